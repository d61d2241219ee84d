// Package agent describes an agent: the spec with which it was started, the
// record of what it has done since, and the words for its role, its links to
// others and how its turns end. It holds values only; internal/coordinator
// runs agents.
//
// An agent that a [Spec] describes is shown to people under its display name:
//
//	for _, s := range status {
//		fmt.Println(agent.DisplayName(s.Record.Spec), s.Record.Outcome)
//	}
package agent
