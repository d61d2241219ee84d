package agent

// Verdict is what a model decides about a call in mode auto.
type Verdict string

// The verdicts. "" is an answer that is none.
const (
	Allowed Verdict = "allow"
	Denied  Verdict = "deny"
)

// Judged counts the verdicts about an agent's calls.
type Judged struct {
	Allowed int `json:"allowed,omitempty"`
	Denied  int `json:"denied,omitempty"`
	Row     int `json:"row,omitempty"` // denials since a call was allowed
}

// With returns j with one more verdict.
func (j Judged) With(v Verdict) Judged {
	switch v {
	case Allowed:
		j.Allowed, j.Row = j.Allowed+1, 0
	case Denied:
		j.Denied, j.Row = j.Denied+1, j.Row+1
	}
	return j
}
