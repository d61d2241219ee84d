// Package report writes what agents read about others: the results of the tools that
// start, stop and read agents, and the message that reports an agent's end.
//
//	switch spec := child.Spec; {
//	case moved:
//		return report.Launched(spec, prompt, path, true)
//	default:
//		return report.Completed(child, prompt) // the last text, set off as data
//	}
//
// Its functions are pure. Their text goes into requests to models, so golden files hold
// its bytes.
//
// Laws:
//
//   - A verification whose report has no verdict is never shown as passed, and a
//     report that is cut keeps its verdict (TestReportOfAVerificationKeepsItsVerdict).
package report
