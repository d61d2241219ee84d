package builtin

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/tooltest"
)

func TestMain(m *testing.M) {
	if session := os.Getenv(actAsRuntime); session != "" {
		actRuntime(session)
	}
	goleak.VerifyTestMain(m)
}

type in = tooltest.Input

// kit is one agent's tools in a fresh folder.
type kit struct {
	t     testing.TB
	dir   string
	out   string
	tools []tool.Tool
}

func newKit(t testing.TB, change ...func(*Env)) *kit {
	t.Helper()
	k := &kit{t: t, dir: t.TempDir(), out: filepath.Join(t.TempDir(), "out")}
	e := Env{Dir: k.dir, OutputDir: k.out, Tag: "agent-1", Session: "session-" + rand.Text(), Getenv: os.Getenv}
	for _, c := range change {
		c(&e)
	}
	k.dir = e.Dir
	k.tools = New(e)
	k.tool("Bash").(*bashTool).linger = 100 * time.Millisecond
	t.Cleanup(func() {
		if err := Close(k.tools); err != nil {
			t.Error(err)
		}
	})
	return k
}

func (k *kit) tool(name string) tool.Tool { return tooltest.Find(k.t, k.tools, name) }

func (k *kit) ok(name string, input in) string {
	k.t.Helper()
	return tooltest.OK(k.t, k.tool(name), input)
}

func (k *kit) refused(name string, input in) string {
	k.t.Helper()
	return tooltest.Refused(k.t, k.tool(name), input)
}

// file writes a file below the agent's folder and returns its path.
func (k *kit) file(name, content string) string {
	k.t.Helper()
	path := filepath.Join(k.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		k.t.Fatal(err)
	}
	return path
}

func (k *kit) content(name string) string {
	k.t.Helper()
	b, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil {
		k.t.Fatal(err)
	}
	return string(b)
}

func TestSpecsNameTheSixToolsAndWhatMayBeAssumed(t *testing.T) {
	type claim struct {
		Name               string
		ReadOnly, Parallel bool
	}
	var got []claim
	for _, each := range newKit(t).tools {
		s := each.Spec()
		got = append(got, claim{s.Name, s.ReadOnly, s.Parallel})
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		if err := json.Unmarshal(s.Schema, &schema); err != nil {
			t.Fatalf("the schema of %s: %v", s.Name, err)
		}
		for _, name := range schema.Required {
			if _, ok := schema.Properties[name]; !ok {
				t.Errorf("%s requires %s, which it does not describe", s.Name, name)
			}
		}
		for name, p := range schema.Properties {
			if p.Type == "" || p.Description == "" {
				t.Errorf("%s says too little about %s", s.Name, name)
			}
		}
	}
	want := []claim{
		{"Read", true, true},
		{"Write", false, false},
		{"Edit", false, false},
		{"Glob", true, true},
		{"Grep", true, true},
		{"Bash", false, false},
	}
	if !slices.Equal(got, want) {
		t.Errorf("the tools are %v, want %v", got, want)
	}
}

func TestInputThatIsNotValidIsAResult(t *testing.T) {
	for _, each := range newKit(t).tools {
		res, err := each.Run(t.Context(), tool.Call{Name: each.Spec().Name, Input: []byte(`[1]`)})
		if err != nil || !res.IsError {
			t.Errorf("%s: result %+v, error %v; want a result that says IsError", each.Spec().Name, res, err)
		}
	}
}
