// Package price knows what a model costs and how large its context window is, from a
// table of published list prices and the user's own entries.
//
//	table, err := price.Load(path)     // the user's file over the built-in list
//	cost := table.Cost(answer.Usage, answer.Model)
//	window := table.Window("claude-…") // in tokens; 0 if unknown
//
// Laws:
//
//   - Unknown stays unknown. A model without an entry has no price and no
//     window; nothing is guessed from similar models (TestUnknownIsUnknown).
//   - Sums are exact. Money is counted in integers fine enough that the price
//     of one token is a whole number (TestSumsAreExact).
//   - The user's entries win. An entry of the user's file replaces the built-in
//     one, field by field (TestTheUsersWordCounts).
package price
