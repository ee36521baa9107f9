package sqlledger

// manyRows is from how many rows on it pays to let checks of foreign keys keep their
// plans: two short round trips against a plan for each row.
const manyRows = 16

// keepChecks runs fn, which deletes n rows that others may refer to. The engine plans every statement anew; PostgreSQL takes that for the
// queries too by which it checks foreign keys row by row, and planning those took
// four fifths of the time of dropping contents. They look one row up by an index,
// whatever the tables hold, so that they may keep their plan.
func (t *tx) keepChecks(n int, fn func() error) error {
	if t.db.pg == nil || n < manyRows {
		return fn()
	}
	if err := t.set("SET LOCAL plan_cache_mode = auto"); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	return t.set("SET LOCAL plan_cache_mode TO DEFAULT")
}

// set changes a setting of PostgreSQL for the rest of the transaction.
func (t *tx) set(text string) error {
	if t.spoilt != nil {
		return t.spoilt
	}
	_, err := t.s.Script(t.ctx, text)
	return t.failed(err)
}
