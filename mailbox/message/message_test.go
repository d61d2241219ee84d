package message_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/mailbox/schema"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// one returns a message of every kind.
func one() []message.Message {
	return []message.Message{
		message.Plain{Of: mailbox.KindText, Text: "hello <b>"},
		message.Plain{Of: mailbox.KindBroadcast, Text: "all"},
		message.Plain{Of: mailbox.KindAgentReport, Text: "done"},
		message.Plain{Of: mailbox.KindIdle, Text: "idle"},
		message.ShutdownRequest{RequestID: "r1", Reason: "the work is done", GraceMS: 5000},
		message.ShutdownResponse{RequestID: "r1", Reason: "one file is half written"},
		message.PlanApprovalRequest{RequestID: "r2", Plan: "1. <read>\n2. write", PlanFile: "/p"},
		message.PlanApprovalResponse{RequestID: "r2", Approve: true, Feedback: "go", Mode: "acceptEdits"},
		message.PermissionRequest{RequestID: "r3", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), Reason: "no rule", Rule: "Bash(ls:*)"},
		message.PermissionResponse{RequestID: "r3", Approve: true, Note: "once", Always: true},
		message.Question{RequestID: "r4", Text: "which?", Options: []string{"a", "b"}, Multiple: true},
		message.Answer{RequestID: "r4", Text: "a", Chosen: []string{"a"}},
		message.TaskAssigned{TaskID: "1", Subject: "s", Description: "d", By: "team-lead"},
		message.TaskCompleted{TaskID: "1", Subject: "s", By: "ann", Freed: []string{"2"}},
		message.Receipt{MessageID: "m1", State: mailbox.StateDead, Reason: "gone"},
	}
}

func TestBodiesRoundTrip(t *testing.T) {
	if len(one()) != len(mailbox.Kinds()) {
		t.Fatalf("%d of %d kinds are tested", len(one()), len(mailbox.Kinds()))
	}
	for i, m := range one() {
		if m.Kind() != mailbox.Kinds()[i] {
			t.Errorf("message %d is of kind %s", i, m.Kind())
		}
		body, err := message.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := message.Decode(m.Kind(), body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m.Kind(), diff)
		}
		zero, plain := reflect.New(reflect.TypeOf(m)).Elem().Interface().(message.Message), strings.HasPrefix(reflect.TypeOf(m).Name(), "Plain")
		if _, err := message.Encode(zero); err == nil && !plain {
			t.Errorf("an empty %s was encoded", m.Kind())
		}
	}
}

// TestSchemaAndDecoderAgree changes each body in ways that only one of the two
// might notice.
func TestSchemaAndDecoderAgree(t *testing.T) {
	for _, m := range one() {
		raw, err := schema.Of(m.Kind())
		if err != nil {
			t.Fatal(err)
		}
		var whole struct {
			Properties struct {
				Kind struct {
					Const mailbox.Kind `json:"const"`
				} `json:"kind"`
				Body struct {
					Content *jsonschema.Schema `json:"contentSchema"`
				} `json:"body"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(raw, &whole); err != nil || whole.Properties.Kind.Const != m.Kind() {
			t.Fatalf("the schema of %s: %v, kind %s", m.Kind(), err, whole.Properties.Kind.Const)
		}
		if whole.Properties.Body.Content == nil {
			continue // plain text
		}
		content, err := whole.Properties.Body.Content.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := message.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range mutations(t, body) {
			var value any
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				t.Fatal(err)
			}
			bySchema := content.Validate(value)
			_, byDecoder := message.Decode(m.Kind(), text)
			if (bySchema == nil) != (byDecoder == nil) {
				t.Errorf("%s, %s: %s\nschema: %v\ndecoder: %v", m.Kind(), name, text, bySchema, byDecoder)
			}
		}
	}
}

func mutations(t *testing.T, body string) map[string]string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"as it is": body, "unknown field": strings.Replace(body, "{", `{"more":1,`, 1)}
	for key, value := range fields {
		all["without "+key] = encode(t, fields, key, nil)
		if _, ok := value.(string); ok {
			all["empty "+key] = encode(t, fields, key, "")
			all["number for "+key] = encode(t, fields, key, 7)
		}
	}
	return all
}

// encode writes fields with one changed, or taken out.
func encode(t *testing.T, fields map[string]any, key string, value any) string {
	changed := map[string]any{}
	for k, v := range fields {
		changed[k] = v
	}
	if changed[key] = value; value == nil {
		delete(changed, key)
	}
	raw, err := json.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func FuzzDecode(f *testing.F) {
	for _, m := range one() {
		body, err := message.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(m.Kind()), body)
	}
	f.Fuzz(func(t *testing.T, kind, body string) {
		m, err := message.Decode(mailbox.Kind(kind), body)
		if err != nil {
			return
		}
		again, err := message.Encode(m)
		if err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", m, err)
		}
		if _, err := message.Decode(m.Kind(), again); err != nil {
			t.Fatalf("%s comes back as %s: %v", body, again, err)
		}
	})
}
