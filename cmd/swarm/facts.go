package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/event"
)

// wireEvent is an event as another process tells it.
type wireEvent struct {
	Seq   uint64          `json:"seq"`
	Time  time.Time       `json:"time"`
	Agent event.Agent     `json:"agent"`
	Type  string          `json:"type"`
	Fact  json.RawMessage `json:"fact"`
}

// decodeEvent reads an event of another process. ok is false for a fact that
// this version does not know.
func decodeEvent(raw []byte) (e event.Event, ok bool, err error) {
	var w wireEvent
	if err := json.Unmarshal(raw, &w); err != nil {
		return e, false, fmt.Errorf("read an event: %w", err)
	}
	decode := decoders[w.Type]
	if decode == nil {
		return e, false, nil
	}
	fact, err := decode(w.Fact)
	if err != nil {
		return e, false, fmt.Errorf("read an event of type %s: %w", w.Type, err)
	}
	return event.Event{Seq: w.Seq, Time: w.Time, Agent: w.Agent, Fact: fact}, true, nil
}

var decoders = decodersOf(
	decoder[event.Started], decoder[event.StateChanged], decoder[event.Delta], decoder[event.Requested],
	decoder[event.Answered], decoder[event.BackingOff], decoder[event.CallStarted], decoder[event.CallFinished],
	decoder[event.Denied], decoder[event.MailSent], decoder[event.MailArrived], decoder[event.MailSettled],
	decoder[event.TurnEnded], decoder[event.Progress], decoder[event.Warning], decoder[event.Asked], decoder[event.QuestionSettled],
	decoder[event.Compacting], decoder[event.Compacted], decoder[event.Prompted], decoder[event.Preempted],
	decoder[event.ShutdownMoved], decoder[event.PlanMoved], decoder[event.Audit],
)

type decodeFunc func(raw []byte) (event.Fact, error)

// decoder reads facts of one type; without bytes it returns the zero fact.
func decoder[F event.Fact](raw []byte) (event.Fact, error) {
	var f F
	if raw == nil {
		return f, nil
	}
	err := json.Unmarshal(raw, &f)
	return f, err
}

func decodersOf(all ...decodeFunc) map[string]decodeFunc {
	table := make(map[string]decodeFunc, len(all))
	for _, decode := range all {
		if zero, err := decode(nil); err == nil {
			table[event.Type(zero)] = decode
		}
	}
	return table
}
