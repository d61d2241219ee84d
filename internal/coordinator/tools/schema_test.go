package tools

import (
	"encoding/json"
	"testing"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/tool/tooltest"
)

func TestSchemasDescribeWhatIsDecoded(t *testing.T) {
	tooltest.Decodes[spawn.Call](t, json.RawMessage(agentSchema))
	tooltest.Decodes[stopInput](t, json.RawMessage(stopSchema), "shell_id")
	tooltest.Decodes[outputInput](t, json.RawMessage(outputSchema), "agentId", "bash_id")
	tooltest.Decodes[questionInput](t, json.RawMessage(questionSchema))
	tooltest.Decodes[exitPlanInput](t, json.RawMessage(exitPlanSchema))
}
