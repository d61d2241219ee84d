package event

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// facts are the types of the package by the names under which they are written.
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
		Asked{},
		QuestionSettled{},
		MailSent{},
		MailArrived{},
		MailSettled{},
		Compacting{},
		Compacted{},
		Progress{},
		TurnEnded{},
		Warning{},
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
