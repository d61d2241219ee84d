// Package account keeps what agents may use: accounts in a tree, each with
// limits, where what is charged to one is charged to all above it.
//
//	session := account.New("the session", budget.Limits{Money: 5 * budget.Dollar}, time.Now())
//	ann := session.Open("ann", budget.Limits{Requests: 100}, time.Now())
//	r, err := ann.Reserve(ctx, request) // waits for requests in flight
//	if err != nil {
//		return err // *budget.ExceededError, *budget.UnpricedError
//	}
//	defer r.Commit(budget.Amount{}) // an answer that fails costs nothing
//	answer := send(request, r.Output)
//	r.Commit(used(answer))
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
