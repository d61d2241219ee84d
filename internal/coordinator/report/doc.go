// Package report says in words what became of an agent: the results of the tools
// that start, stop and read agents, and the messages that tell an agent's end.
//
//	switch spec := child.Spec; {
//	case moved:
//		return report.Launched(spec, prompt, path, true)
//	default:
//		return report.Completed(child, prompt) // the last text, set off as data
//	}
//
// Everything in it is a pure function of an agent's record. What it returns goes
// into requests to models, so its bytes are held by golden files.
//
// Laws:
//
//   - A verification whose report has no verdict is never shown as passed, and a
//     report that is cut keeps its verdict (TestReportOfAVerificationKeepsItsVerdict).
package report
