package mcpclient

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/tool"
)

// npmServer returns a server that make mcp-servers has installed.
func npmServer(t *testing.T, name string, args ...string) Server {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node")
	}
	dir := os.Getenv("SWARM_MCP_SERVERS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skip(err)
		}
		dir = filepath.Join(cache, "swarm-mcp-servers")
	}
	path := filepath.Join(dir, "node_modules/.bin/mcp-server-"+name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skip("make mcp-servers has not installed the servers of others")
	}
	return Server{Name: name, Source: "npm", Type: "stdio", Command: path, Args: args}
}

func (f *fixture) wantResult(name, input, want string) {
	f.t.Helper()
	r, err := f.Tools([]string{name})[0].Run(f.t.Context(), tool.Call{Name: name, Input: []byte(input)})
	if err != nil || !strings.Contains(r.Text, want) {
		f.t.Errorf("%s returned %+v, %v; want %q", name, r, err, want)
	}
}

// TestServersOfOthersWork uses servers that others have written.
func TestServersOfOthersWork(t *testing.T) {
	t.Parallel()
	dir, more := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(more, "note"), []byte("what it holds"), 0o600); err != nil {
		t.Fatal(err)
	}
	memory := npmServer(t, "memory")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}
	f := start(t, Options{Roots: []string{more}}, npmServer(t, "everything", "stdio"), npmServer(t, "filesystem", dir), memory)
	for _, want := range []string{"mcp__everything__echo", "mcp__filesystem__read_text_file", "mcp__memory__read_graph"} {
		if !slices.Contains(f.Names(), want) {
			t.Errorf("there is no %s in %v; warned %s", want, f.Names(), f.warnings())
		}
	}
	f.wantResult("mcp__everything__echo", `{"message": "hello"}`, "hello")
	f.wantResult("mcp__everything__trigger-long-running-operation", `{"duration": 1, "steps": 2}`, "completed")
	f.wantResult("mcp__everything__get-tiny-image", `{}`, "[an image, image/png")
	f.wantResult("mcp__filesystem__read_text_file", `{"path": "`+filepath.Join(more, "note")+`"}`, "what it holds")
	f.wantResult("mcp__filesystem__read_text_file", `{"path": "/etc/hostname"}`, "denied")
	f.wantResult("mcp__memory__create_entities", `{"entities": [{"name": "ann", "entityType": "agent", "observations": ["works"]}]}`, "ann")
	f.wantResult("mcp__memory__read_graph", `{}`, "works")
}
