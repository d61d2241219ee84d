// Package message holds the bodies of messages: one type for each kind, with the
// JSON form that mailbox/schema describes. Text, broadcast, report and idle
// messages are plain text; all others are one JSON object.
//
//	body, err := message.Encode(message.ShutdownRequest{…})
//	m, err := message.Decode(envelope.Kind, envelope.Body)
//	if r, is := m.(message.ShutdownRequest); is {
//		…
//	}
//
// Laws: Decode reads back what Encode writes, and refuses every body that its schema
// refuses (TestBodiesRoundTrip, TestSchemaAndDecoderAgree).
package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/actorswarm/swarm/mailbox"
)

// Message is one of the types of this package.
type Message interface {
	Kind() mailbox.Kind
	check() error
}

// Plain is the body of a text, a broadcast, an idle notice or a report.
type Plain struct {
	Of   mailbox.Kind
	Text string
}

// The structured bodies. A RequestID identifies a request within the session; a response
// carries that of its request.
type (
	// ShutdownRequest asks a member to end.
	ShutdownRequest struct {
		RequestID string `json:"request_id"`
		Reason    string `json:"reason,omitempty"`
		GraceMS   int64  `json:"grace_ms"` // milliseconds after which it is ended anyway
	}
	// ShutdownResponse agrees to end, or objects; only the first objection counts.
	ShutdownResponse struct {
		RequestID string `json:"request_id"`
		Approve   bool   `json:"approve"`
		Reason    string `json:"reason,omitempty"`
	}
	// PlanApprovalRequest carries the plan of a member.
	PlanApprovalRequest struct {
		RequestID string `json:"request_id"`
		Plan      string `json:"plan"`
		PlanFile  string `json:"plan_file,omitempty"`
	}
	// PlanApprovalResponse is the decision about a plan.
	PlanApprovalResponse struct {
		RequestID string `json:"request_id"`
		Approve   bool   `json:"approve"`
		Feedback  string `json:"feedback,omitempty"`
		Mode      string `json:"permission_mode,omitempty"` // mode after the approval; never wider than the lead's
	}
	// PermissionRequest is a call that a person must allow.
	PermissionRequest struct {
		RequestID string          `json:"request_id"`
		Tool      string          `json:"tool_name"`
		Input     json.RawMessage `json:"input,omitempty"`
		Reason    string          `json:"reason,omitempty"`
		Rule      string          `json:"suggested_rule,omitempty"` // the rule that Always would add
	}
	// PermissionResponse is the decision of a person.
	PermissionResponse struct {
		RequestID string `json:"request_id"`
		Approve   bool   `json:"approve"`
		Note      string `json:"note,omitempty"`
		Always    bool   `json:"always,omitempty"`
	}
	// Question is a question to a person.
	Question struct {
		RequestID string   `json:"request_id"`
		Text      string   `json:"question"`
		Options   []string `json:"options,omitempty"`
		Multiple  bool     `json:"multi_select,omitempty"`
	}
	// Answer is the answer of a person.
	Answer struct {
		RequestID string   `json:"request_id"`
		Text      string   `json:"text,omitempty"`
		Chosen    []string `json:"chosen,omitempty"`
	}
	// TaskAssigned reports that a task of the board was given to the receiver.
	TaskAssigned struct {
		TaskID      string `json:"task_id"`
		Subject     string `json:"subject"`
		Description string `json:"description,omitempty"`
		By          string `json:"assigned_by"`
	}
	// TaskCompleted reports that a task that the receiver assigned or waits for is done.
	TaskCompleted struct {
		TaskID  string   `json:"task_id"`
		Subject string   `json:"subject"`
		By      string   `json:"completed_by"`
		Freed   []string `json:"freed,omitempty"` // tasks that can be claimed now
	}
	// Receipt reports the state of a message.
	Receipt struct {
		MessageID mailbox.ID    `json:"message_id"`
		State     mailbox.State `json:"state"`
		Reason    string        `json:"reason,omitempty"`
	}
)

// Kind implements Message.
func (m Plain) Kind() mailbox.Kind { return m.Of }

// Kind implements Message.
func (ShutdownRequest) Kind() mailbox.Kind { return mailbox.KindShutdownRequest }

// Kind implements Message.
func (ShutdownResponse) Kind() mailbox.Kind { return mailbox.KindShutdownResponse }

// Kind implements Message.
func (PlanApprovalRequest) Kind() mailbox.Kind { return mailbox.KindPlanApprovalRequest }

// Kind implements Message.
func (PlanApprovalResponse) Kind() mailbox.Kind { return mailbox.KindPlanApprovalResponse }

// Kind implements Message.
func (PermissionRequest) Kind() mailbox.Kind { return mailbox.KindPermissionRequest }

// Kind implements Message.
func (PermissionResponse) Kind() mailbox.Kind { return mailbox.KindPermissionResponse }

// Kind implements Message.
func (Question) Kind() mailbox.Kind { return mailbox.KindQuestion }

// Kind implements Message.
func (Answer) Kind() mailbox.Kind { return mailbox.KindAnswer }

// Kind implements Message.
func (TaskAssigned) Kind() mailbox.Kind { return mailbox.KindTaskAssigned }

// Kind implements Message.
func (TaskCompleted) Kind() mailbox.Kind { return mailbox.KindTaskCompleted }

// Kind implements Message.
func (Receipt) Kind() mailbox.Kind { return mailbox.KindReceipt }

func (m Plain) check() error                { return nil }
func (m ShutdownRequest) check() error      { return need("request_id", m.RequestID) }
func (m ShutdownResponse) check() error     { return need("request_id", m.RequestID) }
func (m PlanApprovalRequest) check() error  { return need("request_id", m.RequestID, "plan", m.Plan) }
func (m PlanApprovalResponse) check() error { return need("request_id", m.RequestID) }
func (m PermissionRequest) check() error {
	return need("request_id", m.RequestID, "tool_name", m.Tool)
}
func (m PermissionResponse) check() error { return need("request_id", m.RequestID) }
func (m Question) check() error           { return need("request_id", m.RequestID, "question", m.Text) }
func (m Answer) check() error             { return need("request_id", m.RequestID) }
func (m TaskAssigned) check() error       { return need("task_id", m.TaskID, "subject", m.Subject) }
func (m TaskCompleted) check() error      { return need("task_id", m.TaskID, "subject", m.Subject) }
func (m Receipt) check() error {
	return need("message_id", string(m.MessageID), "state", string(m.State))
}

// need takes pairs of a name and a value, and reports the first value that is empty.
func need(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if strings.TrimSpace(pairs[i+1]) == "" {
			return fmt.Errorf("it has no %s", pairs[i])
		}
	}
	return nil
}

// Encode returns the body of m.
func Encode(m Message) (string, error) {
	if p, ok := m.(Plain); ok {
		return p.Text, nil
	}
	if err := m.check(); err != nil {
		return "", fmt.Errorf("encode a %s message: %w", m.Kind(), err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return "", fmt.Errorf("encode a %s message: %w", m.Kind(), err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Decode decodes a body of a kind. It refuses unknown fields, missing fields, and
// anything after the object.
func Decode(k mailbox.Kind, body string) (Message, error) {
	switch k {
	case mailbox.KindText, mailbox.KindBroadcast, mailbox.KindAgentReport, mailbox.KindIdle:
		return Plain{Of: k, Text: body}, nil
	case mailbox.KindShutdownRequest:
		return decode[ShutdownRequest](body)
	case mailbox.KindShutdownResponse:
		return decode[ShutdownResponse](body)
	case mailbox.KindPlanApprovalRequest:
		return decode[PlanApprovalRequest](body)
	case mailbox.KindPlanApprovalResponse:
		return decode[PlanApprovalResponse](body)
	case mailbox.KindPermissionRequest:
		return decode[PermissionRequest](body)
	case mailbox.KindPermissionResponse:
		return decode[PermissionResponse](body)
	case mailbox.KindQuestion:
		return decode[Question](body)
	case mailbox.KindAnswer:
		return decode[Answer](body)
	case mailbox.KindTaskAssigned:
		return decode[TaskAssigned](body)
	case mailbox.KindTaskCompleted:
		return decode[TaskCompleted](body)
	case mailbox.KindReceipt:
		return decode[Receipt](body)
	}
	return nil, fmt.Errorf("there is no kind of message %q", k)
}

func decode[M Message](body string) (Message, error) {
	var m M
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(&m)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something stands behind the object")
		}
	}
	if err == nil {
		err = errors.Join(present(reflect.TypeFor[M](), body), m.check())
	}
	if err != nil {
		return nil, fmt.Errorf("the body of a %s message is not valid: %w", m.Kind(), err)
	}
	return m, nil
}

// present reports a required field that the body lacks; otherwise a missing decision
// would read as a refusal.
func present(t reflect.Type, body string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		return err
	}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if _, ok := fields[name]; !ok && options == "" {
			return fmt.Errorf("it has no %s", name)
		}
	}
	return nil
}
