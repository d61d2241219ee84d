// Package budget holds amounts of what agents use and limits of them: money,
// tokens, requests and time. A zero limit is none.
//
//	l := budget.Limits{Money: 5 * budget.Dollar, Requests: 200}
//
// A request that a limit does not let out is an [*OverError]; one whose price
// nobody knows, under a limit of money, an [*UnpricedError].
//
// Law:
//
//   - Sums are exact. Money is counted in integers fine enough that the price of
//     one token is a whole number (package price: TestSumsAreExact).
package budget
