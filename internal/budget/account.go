package budget

// Unit is in what steps an account takes bytes.
const Unit = 16 << 10

// Account is what one request holds of a budget. It is used by one goroutine at a time.
type Account struct {
	b      *Budget
	client string
	held   int64
}

// Account opens one for a client, with nothing in it.
func (b *Budget) Account(client string) *Account { return &Account{b: b, client: client} }

// Hold takes what lacks to n bytes, or nothing: then it returns false.
func (a *Account) Hold(n int64) bool {
	lacks := n - a.held
	if lacks <= 0 {
		return true
	}
	lacks = (lacks + Unit - 1) / Unit * Unit
	if !a.b.Take(a.client, lacks) {
		return false
	}
	a.held += lacks
	return true
}

// Close gives back what the account holds.
func (a *Account) Close() {
	if a.held > 0 {
		a.b.Give(a.client, a.held)
		a.held = 0
	}
}
