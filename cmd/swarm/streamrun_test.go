package main

import (
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/cli/clitest"
)

func TestStreamOfARealRun(t *testing.T) {
	t.Parallel()
	l := terminalLab(t)
	end := l.run("run", "--output-format", "stream-json", "--verbose", "--model", "script:s.yaml", "look")
	if end.code != 0 || end.err != "" {
		t.Fatalf("%+v", end)
	}
	clitest.CheckStream(t, end.out)
	for _, want := range []string{
		`"tools":["Read",`, `"Task"`, `"subtype":"task_started"`, `"subtype":"task_notification"`, `"type":"user"`,
		`"tool_use_result":{`, `"status":"teammate_spawned"`, `"name":"security","is_backgrounded":true`, `"kind":"idle","state":"read"`,
	} {
		if !strings.Contains(end.out, want) {
			t.Errorf("no %s in:\n%s", want, end.out)
		}
	}
}

func TestAForkEntersItsCopyOfTheConversation(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": `rules:
  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {subagent_type: fork, description: look closer, prompt: look}}]}
  - say: {text: seen}
`})
	end := l.run("run", "--output-format", "stream-json", "--verbose", "--model", "script:s.yaml", "look")
	if end.code != 0 || strings.Count(end.out, `"status":"sub_agent_entered"`) != 1 || !strings.Contains(end.out, `"status":"completed"`) {
		t.Errorf("%+v", end)
	}
}
