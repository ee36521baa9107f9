// Package predict says what will go by an instant if nobody acts meanwhile: when, by what,
// what that frees, and what a hold or a limit keeps. Plans, dry runs, explain and the
// forecast ask it, so that none of them says what another one denies.
//
// When an object ends is decided by ledger.Object.Ends, how many a limit lets go by
// ledger.LimitState.Take, both by the code that ends objects.
package predict
