package event

import (
	"encoding/json"
	"time"
)

// QuestionKind says what an agent asks a person for.
type QuestionKind string

// The kinds of questions.
const (
	AsksPermission QuestionKind = "permission" // to run a tool call
	AsksAnswer     QuestionKind = "question"   // to one or more questions of its own
)

// Question is what one agent asks a person. The agent waits for the answer.
type Question struct {
	// ID is made of the agent and the call, so that a question that is asked
	// again after a restart has the id it had.
	ID      string          `json:"id"`
	Agent   Agent           `json:"agent"`
	Kind    QuestionKind    `json:"kind"`
	Tool    string          `json:"tool"`
	Summary string          `json:"summary"` // the call in one line
	Input   json.RawMessage `json:"input,omitempty"`
	Reason  string          `json:"reason,omitempty"` // why a person is asked
	// Rules are what an answer that holds for always would allow; without any
	// such an answer cannot be given.
	Rules   []string  `json:"rules,omitempty"`
	Choices []Choice  `json:"choices,omitempty"` // what is asked, if Kind is AsksAnswer
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires,omitzero"` // zero: it waits as long as it takes
}

// Choice is one question of an agent with the answers that it offers. A person
// may give another one.
type Choice struct {
	Header      string   `json:"header"`
	Question    string   `json:"question"`
	Options     []Option `json:"options"`
	MultiSelect bool     `json:"multiSelect"`
}

// Option is an answer that an agent offers.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}
