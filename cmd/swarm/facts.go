package main

import (
	"encoding/json"
	"errors"

	"github.com/actorswarm/swarm/event"
)

// decodeEvent reads an event of another process. ok is false for a fact that
// this version does not know.
func decodeEvent(raw []byte) (e event.Event, ok bool, err error) {
	err = json.Unmarshal(raw, &e)
	if errors.As(err, new(*event.UnknownTypeError)) {
		return e, false, nil
	}
	return e, err == nil, err
}
