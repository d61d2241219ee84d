package autojudge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
)

// Sizes of the parts of a case, in bytes.
const (
	maxCall    = 100_000 // the call, which is never cut
	maxSaid    = 8_000   // one text of the user
	maxAllSaid = 40_000
	maxInput   = 1_500 // of an earlier call
	maxEarlier = 30_000
	maxProject = 20_000 // instructions
)

// document is what the model is shown.
type document struct {
	Agent        subject  `json:"agent"`
	Instructions string   `json:"project_instructions,omitempty"`
	Said         []text   `json:"user_and_task"`
	Earlier      []action `json:"earlier_actions"`
	Action       *action  `json:"action,omitempty"`
	Report       string   `json:"report,omitempty"`
}

type subject struct {
	Type string `json:"type"`
	Role string `json:"role"`
	Dir  string `json:"directory"`
}

type text struct {
	From string `json:"from"` // user or task
	Text string `json:"text"`
}

type action struct {
	Tool  string            `json:"tool"`
	Input json.RawMessage   `json:"input,omitempty"`
	Begin string            `json:"input_begins,omitempty"` // of one that is too long
	Paths map[string]string `json:"paths_lead_to,omitempty"`
}

// NoVerdictError reports that the model has not decided.
type NoVerdictError struct {
	Why string
	Err error // may be nil
}

func (e *NoVerdictError) Error() string {
	if e.Err != nil {
		return e.Why + ": " + e.Err.Error()
	}
	return e.Why
}

func (e *NoVerdictError) Unwrap() error { return e.Err }

// newDocument returns what a model is shown about an agent that makes a call.
func (j *Judge) newDocument(a Agent, call string) (*document, error) {
	spec := a.Log.Spec()
	d := &document{
		Agent: subject{spec.Type, string(spec.Role), spec.Dir}, Said: []text{}, Earlier: []action{},
	}
	if j.o.Instructions != nil {
		d.Instructions = cut(j.o.Instructions(), maxProject)
	}
	said, err := a.Log.Said()
	if err != nil {
		return nil, err
	}
	msgs, err := a.Log.Messages()
	if err != nil {
		return nil, err
	}
	d.Said, d.Earlier = texts(said), a.actions(msgs, call)
	return d, nil
}

// texts returns the first text and as many of the newest as there is room for.
func texts(said []transcript.Said) []text {
	all, room := []text{}, maxAllSaid
	for i, s := range slices.Backward(said) {
		if room -= min(len(s.Text), maxSaid); room < 0 && i > 0 {
			continue
		}
		from := "task"
		if s.User {
			from = "user"
		}
		all = append(all, text{from, cut(s.Text, maxSaid)})
	}
	slices.Reverse(all)
	return all
}

// actions returns the newest calls but one that do more than read, the oldest of them
// first. Other calls of the same answer are among them.
func (a Agent) actions(msgs []model.Message, but string) []action {
	all, room := []action{}, maxEarlier
	for _, m := range slices.Backward(msgs) {
		if m.Role() != model.RoleAssistant {
			continue
		}
		for _, b := range slices.Backward(m.Blocks()) {
			if b.Type != model.TypeToolUse || b.ID == but || a.ReadOnly != nil && a.ReadOnly(b.Name) {
				continue
			}
			done := action{Tool: b.Name, Input: b.Input}
			if len(b.Input) > maxInput || !json.Valid(b.Input) {
				done.Input, done.Begin = nil, cut(string(b.Input), maxInput)
			}
			if room -= len(done.Input) + len(done.Begin); room < 0 {
				slices.Reverse(all)
				return all
			}
			all = append(all, done)
		}
	}
	slices.Reverse(all)
	return all
}

var errTooLong = errors.New("the call is too long to be shown whole")

// ofCall adds the call.
func (d *document) ofCall(c model.Call, decided permission.Decision) error {
	if len(c.Input) > maxCall {
		return errTooLong
	}
	if !json.Valid(c.Input) && len(c.Input) > 0 {
		return errors.New("the input of the call is not JSON")
	}
	d.Action = &action{Tool: c.Name, Input: c.Input}
	for from, to := range decided.Paths {
		if from != to {
			if d.Action.Paths == nil {
				d.Action.Paths = map[string]string{}
			}
			d.Action.Paths[from] = to
		}
	}
	return nil
}

// encode returns the document as JSON.
func (d *document) encode() ([]byte, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode what is judged: %w", err)
	}
	return raw, nil
}

// cut returns at most n bytes of a text and says that it is cut.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return string([]byte(s[:n])) + " […cut]"
}
