package roster

import (
	"encoding/json"
	"testing"

	"github.com/actorswarm/swarm/tool/tooltest"
)

func TestSchemasDescribeWhatIsDecoded(t *testing.T) {
	tooltest.Decodes[sendInput](t, json.RawMessage(sendSchema))
	tooltest.Decodes[createInput](t, json.RawMessage(createSchema))
	tooltest.Decodes[getInput](t, json.RawMessage(getSchema))
	tooltest.Decodes[listInput](t, json.RawMessage(showSchema))
	tooltest.Decodes[updateInput](t, json.RawMessage(updateSchema))
}
