package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// facts maps the names of facts to their types.
var facts = func() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, f := range []Fact{
		Started{},
		StateChanged{},
		Delta{},
		Requested{},
		Answered{},
		BackingOff{},
		CallStarted{},
		CallFinished{},
		Denied{},
		Judged{},
		Asked{},
		QuestionResolved{},
		MailSent{},
		MailArrived{},
		MailStateChanged{},
		Compacting{},
		Compacted{},
		Progress{},
		Preempted{},
		TurnEnded{},
		ShutdownMoved{},
		PlanMoved{},
		Audit{},
		Prompted{},
		Warning{},
		Hint{},
	} {
		all[f.fact()] = reflect.TypeOf(f)
	}
	return all
}()

// UnknownTypeError reports a fact of a type that this version does not know.
type UnknownTypeError struct{ Type string }

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("there is no fact of type %q; it comes from another version", e.Type)
}

// wire is the encoded form of an event.
type wire struct {
	Seq   uint64          `json:"seq"`
	Time  time.Time       `json:"time"`
	Agent Agent           `json:"agent"`
	Type  string          `json:"type"`
	Fact  json.RawMessage `json:"fact"`
}

// MarshalJSON writes the event with the name of its fact, so that another process
// can read it.
func (e Event) MarshalJSON() ([]byte, error) {
	fact, err := json.Marshal(e.Fact)
	if err != nil {
		return nil, fmt.Errorf("encode the fact %s: %w", e.Fact.fact(), err)
	}
	return json.Marshal(wire{Seq: e.Seq, Time: e.Time, Agent: e.Agent, Type: e.Fact.fact(), Fact: fact})
}

// UnmarshalJSON reads an event of another process. A fact that this version does
// not know is an *UnknownTypeError.
func (e *Event) UnmarshalJSON(raw []byte) error {
	var w wire
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("read an event: %w", err)
	}
	f, err := Decode(w.Type, w.Fact)
	if err != nil {
		return err
	}
	*e = Event{Seq: w.Seq, Time: w.Time, Agent: w.Agent, Fact: f}
	return nil
}

// Decode returns the fact of a type that was written as JSON.
func Decode(name string, raw []byte) (Fact, error) {
	t, ok := facts[name]
	if !ok {
		return nil, &UnknownTypeError{Type: name}
	}
	into := reflect.New(t)
	if err := json.Unmarshal(raw, into.Interface()); err != nil {
		return nil, fmt.Errorf("decode the fact %s: %w", name, err)
	}
	return into.Elem().Interface().(Fact), nil
}

// Parse reads an event that another process has encoded. known is false for a fact of a
// type that this version does not know.
func Parse(raw []byte) (e Event, known bool, err error) {
	err = json.Unmarshal(raw, &e)
	if errors.As(err, new(*UnknownTypeError)) {
		return e, false, nil
	}
	return e, err == nil, err
}
