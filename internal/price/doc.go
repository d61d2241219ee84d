// Package price knows what a model costs and how much it holds: a table of
// published list prices and context windows, with the user's own entries over it.
//
// Laws:
//
//   - Unknown is unknown. A model that no entry names has no price and no
//     window; nothing is guessed from its relatives
//     (TestUnknownIsUnknown).
//   - Sums are exact. Money is counted in integers fine enough that the price
//     of one token is a whole number (TestSumsAreExact).
//   - The user's word counts. An entry of the user's file stands over ours, field
//     by field (TestTheUsersWordCounts).
package price
