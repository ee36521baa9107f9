package sqlledger

// manyRows is the number of rows from which it pays to keep the plans of foreign key checks:
// two short round trips against one plan per row.
const manyRows = 16

// keepChecks runs fn, which deletes n rows that others may refer to, with cached plans for
// foreign key checks. The engine has every statement planned again. PostgreSQL applies that
// to its own checks as well, whose planning took four fifths of the time to drop contents.
// They look one row up by an index, so their plan suits any table.
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

// set changes a setting of PostgreSQL until the transaction ends.
func (t *tx) set(text string) error {
	if t.spoilt != nil {
		return t.spoilt
	}
	_, err := t.s.Script(t.ctx, text)
	return t.failed(err)
}
