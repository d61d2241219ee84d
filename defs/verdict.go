package defs

import "strings"

// Verdict is what a verification found.
type Verdict string

// The verdicts. NoVerdict is a report that does not end in one: it must never
// be taken for a pass.
const (
	NoVerdict Verdict = ""
	Pass      Verdict = "PASS"
	Fail      Verdict = "FAIL"
	Partial   Verdict = "PARTIAL"
)

// ParseVerdict reads the last line of a report that is not blank. It must be
// "VERDICT: PASS", "VERDICT: FAIL" or "VERDICT: PARTIAL"; marks of emphasis
// around it and a full stop do not count. Anything else is NoVerdict, also
// when a verdict stands further up.
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
