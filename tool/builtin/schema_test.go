package builtin

import (
	"encoding/json"
	"testing"

	"github.com/actorswarm/swarm/tool/tooltest"
)

func TestSchemasDescribeWhatIsDecoded(t *testing.T) {
	tooltest.Decodes[readInput](t, json.RawMessage(readSchema))
	tooltest.Decodes[writeInput](t, json.RawMessage(writeSchema))
	tooltest.Decodes[editInput](t, json.RawMessage(editSchema))
	tooltest.Decodes[globInput](t, json.RawMessage(globSchema))
	tooltest.Decodes[grepInput](t, json.RawMessage(grepSchema))
	tooltest.Decodes[bashInput](t, json.RawMessage(bashSchema))
}
