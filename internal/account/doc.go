// Package account keeps what agents may use: accounts in a tree, each with
// limits, where what is charged to one is charged to all above it.
//
// Laws:
//
//   - Asked before it leaves. A request is reserved with all that it can use
//     before it is sent; what is in flight counts as used
//     (TestNoAccountIsEverOverItsLimits).
//   - Refused only for what is used. A request that does not fit because others
//     are in flight waits for them; only one that would not fit alone is refused
//     (TestARequestWaitsForThoseInFlight).
//   - Lowered before refused. An answer gets what is left, down to a floor below
//     which it would be of no use (TestAnAnswerGetsWhatIsLeft).
//   - A charge is made once, at the account it belongs to and at each above it
//     (TestAChargeCountsInAllAccountsAbove).
//
// The package knows no agents and no models. It keeps nothing: after a restart
// its owner charges what was used before.
package account
