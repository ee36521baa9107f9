// Package console serves the operator's pages: what is stored, what goes and why,
// and what can be done about it. Pages are rendered here and work without scripts;
// a small script of ours keeps them up to date.
//
// Each page asks the admin API within the process, as the operator who has logged in:
// roles, checks and audit lines are those of the API. Forms carry the session's token,
// requests of other sites and for other hosts are refused, and a page loads nothing
// from elsewhere.
//
// The files *.templ are templates. A test of internal/house writes their Go code with its
// flag -update.
package console
