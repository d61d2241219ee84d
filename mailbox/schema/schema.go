// Package schema holds the JSON Schema of each kind of message, for programs that read
// and write messages on the bus.
//
//	raw, err := schema.Of(mailbox.KindQuestion)
//
// The files of a version never change: a change makes a new version.
//
// Law:
//
//   - A schema and the decoder of a kind accept the same bodies (TestSchemaAndDecoderAgree).
package schema

import (
	"embed"
	"fmt"

	"github.com/actorswarm/swarm/mailbox"
)

//go:embed v1/*.json
var files embed.FS

// Of returns the JSON Schema (2020-12) of the envelope of a kind, version 1. A
// structured body is a string that holds JSON; contentSchema describes that.
func Of(k mailbox.Kind) ([]byte, error) {
	raw, err := files.ReadFile("v1/" + string(k) + ".json")
	if err != nil {
		return nil, fmt.Errorf("there is no schema for messages of kind %q", k)
	}
	return raw, nil
}
