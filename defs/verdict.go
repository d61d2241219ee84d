package defs

import "strings"

// Verdict is the result of a verification.
type Verdict string

// The verdicts. NoVerdict stands for a report without one; it never counts as a pass.
const (
	NoVerdict Verdict = ""
	Pass      Verdict = "PASS"
	Fail      Verdict = "FAIL"
	Partial   Verdict = "PARTIAL"
)

// ParseVerdict parses the last line of a report that is not blank. It must be "VERDICT:
// PASS", "VERDICT: FAIL" or "VERDICT: PARTIAL"; emphasis around it and a full stop are
// ignored. Anything else is NoVerdict, even if a verdict stands further up.
func ParseVerdict(report string) Verdict {
	report = strings.TrimSpace(report)
	line := report[strings.LastIndexByte(report, '\n')+1:]
	word, ok := strings.CutPrefix(strings.Trim(line, "*_`. \t\r"), "VERDICT:")
	if !ok {
		return NoVerdict
	}
	switch v := Verdict(strings.Trim(word, "*_`. \t")); v {
	case Pass, Fail, Partial:
		return v
	}
	return NoVerdict
}
