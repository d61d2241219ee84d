package event

import (
	"encoding/json"
	"time"
)

// QuestionKind is the kind of a question to a person.
type QuestionKind string

// The kinds of questions.
const (
	AsksPermission QuestionKind = "permission" // to run a tool call
	AsksAnswer     QuestionKind = "question"   // one or more questions of the agent's own
)

// Question is a question of an agent to a person. The agent waits for the answer.
type Question struct {
	// ID derives from the agent and the call, so that a question has the same id when
	// it is asked again after a restart.
	ID      string          `json:"id"`
	Agent   Agent           `json:"agent"`
	Kind    QuestionKind    `json:"kind"`
	Tool    string          `json:"tool"`
	Summary string          `json:"summary"` // the call in one line
	Input   json.RawMessage `json:"input,omitempty"`
	Reason  string          `json:"reason,omitempty"` // why a person is asked
	// Rules are the rules that an Always answer adds; without any such an answer is
	// not permitted.
	Rules   []string  `json:"rules,omitempty"`
	Choices []Choice  `json:"choices,omitempty"` // the questions, if Kind is AsksAnswer
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// Choice is one question of an agent with suggested answers. A person may answer
// otherwise.
type Choice struct {
	Header      string   `json:"header"`
	Question    string   `json:"question"`
	Options     []Option `json:"options"`
	MultiSelect bool     `json:"multiSelect"`
}

// Option is a suggested answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}
