package event

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

func TestFactsComeBackAsTheyWereWritten(t *testing.T) {
	said, err := model.MessageFromRaw([]byte(`{"role":"assistant","content":[{"type":"text","text":"yes"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Fact{
		Answered{Answer: &model.Answer{ID: "a", Model: "m", Message: said, Usage: model.Usage{InputTokens: 3}}},
		CallFinished{Call: model.Call{ID: "c", Name: "Bash", Input: []byte(`{"command":"ls"}`)}, Text: "out", Took: time.Second},
		MailSent{Envelope: mailbox.Envelope{ID: "m1", Body: "b", Kind: mailbox.KindText, To: mailbox.Address{Agent: "ben"}}},
		TurnEnded{Outcome: "completed", Text: "done", Steps: 2},
		Asked{Question: Question{ID: "q", Agent: Agent{ID: "ben"}}},
	} {
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(Type(f), raw)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if reflect.TypeOf(got) != reflect.TypeOf(f) || string(again) != string(raw) {
			t.Errorf("%s came back as %#v\n%s\n%s", Type(f), got, raw, again)
		}
	}
	if _, err := Decode("news", []byte(`{}`)); !errors.As(err, new(*UnknownTypeError)) {
		t.Errorf("an unknown type: %v", err)
	}
}

// TestEveryFactCanBeDecoded finds a fact that was added and not made known.
func TestEveryFactCanBeDecoded(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "fact" {
				n++
			}
		}
	}
	if n != len(facts) {
		t.Errorf("%d facts are declared and %d can be decoded", n, len(facts))
	}
}
