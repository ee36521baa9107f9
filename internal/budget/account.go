package budget

// Unit is the step in which an account takes bytes.
const Unit = 16 << 10

// Account is the share of one request in a budget. One goroutine uses it at a
// time.
type Account struct {
	b      *Budget
	client string
	held   int64
}

// Account opens an empty account for a client.
func (b *Budget) Account(client string) *Account { return &Account{b: b, client: client} }

// Hold raises the account to n bytes. It reports false, and changes nothing, if the
// budget lacks them.
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

// Close returns the account's bytes to the budget.
func (a *Account) Close() {
	if a.held > 0 {
		a.b.Give(a.client, a.held)
		a.held = 0
	}
}
