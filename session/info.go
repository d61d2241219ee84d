package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/statefile"
)

// Info is the record of a session, which can be read without opening it.
type Info struct {
	ID      string    `json:"id"`
	Dir     string    `json:"dir"` // in which its agents work
	Path    string    `json:"-"`   // of its state
	Created time.Time `json:"created"`
	Prompt  string    `json:"prompt,omitempty"` // first line of the first prompt, or the team that was started before it

	// How the session was started, for whoever opens it again.
	Model    string   `json:"model,omitempty"`
	Mode     string   `json:"mode"`
	Allow    []string `json:"allow,omitempty"`
	Deny     []string `json:"deny,omitempty"`
	Granted  []string `json:"granted,omitempty"` // allow rules that answers "always" have added
	MaxTurns int      `json:"max_turns,omitempty"`
	// Deadlines are those that the user has set; the rest are defaults.
	Deadlines agent.Deadlines `json:"deadlines,omitzero"`
	Agents    string          `json:"agents,omitempty"`
	Settings  string          `json:"settings,omitempty"` // the value of --settings
	System    string          `json:"system,omitempty"`
	MCP       []string        `json:"mcp,omitempty"`        // the values of --mcp-config
	StrictMCP bool            `json:"strict_mcp,omitempty"` // whether there are no other servers
	Budget    budget.Limits   `json:"budget,omitzero"`
	PerChild  budget.Limits   `json:"child_budget,omitzero"`
	NATS      NATS            `json:"nats,omitzero"`
	Inbound   Inbound         `json:"inbound,omitempty"` // as set by the user

	InboundExpiry time.Duration `json:"inbound_expiry,omitempty"` // in nanoseconds
	// Listen and ListenWebSocket are where its bus listens.
	Listen          string   `json:"listen,omitempty"`
	ListenWebSocket string   `json:"listen_websocket,omitempty"`
	ListenCert      string   `json:"listen_cert,omitempty"`
	ListenKey       string   `json:"listen_key,omitempty"`
	Bridges         []Bridge `json:"bridges,omitempty"` // decisions about sessions elsewhere

	AddDirs    []string `json:"add_dirs,omitempty"`
	PluginDirs []string `json:"plugin_dirs,omitempty"`
}

// RecordName is the name of the record in the directory of a session.
const RecordName = "session.json"

// StateDir returns the state directory that contains the session.
func (i Info) StateDir() string { return filepath.Dir(filepath.Dir(filepath.Dir(i.Path))) }

// Open reports whether a process has the session open, even one that does not answer yet or
// any more.
func (i Info) Open() bool { return journal.InUse(filepath.Join(i.Path, "journal")) }

// Socket returns the path of the socket on which a running session answers. It is short for
// any directory of the session, since the system limits its length.
func (i Info) Socket(stateDir string) string {
	path := filepath.Join(stateDir, "run", i.ID+".sock")
	if len(path) < 100 {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(SocketDir(), hex.EncodeToString(sum[:8])+".sock")
}

// SocketDir is the directory of the sockets whose path would be too long below the state
// directory.
func SocketDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("swarm-%d", os.Getuid()))
}

// MakeDirs creates the directories of a session, which only the user can read.
func (i Info) MakeDirs() error {
	return statefile.MakeDirs(i.Path, "", "journal", "transcripts", "outputs", "jetstream")
}

// Write writes the record to disk, in one step.
func (i Info) Write() error {
	raw, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", RecordName, err)
	}
	return statefile.Write(filepath.Join(i.Path, RecordName), append(raw, '\n'))
}

// Read returns the record in the directory of a session.
func Read(dir string) (Info, error) {
	var info Info
	path := filepath.Join(dir, RecordName)
	raw, err := os.ReadFile(path)
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return info, fmt.Errorf("%s: %w", path, err)
	}
	info.Path = dir
	return info, nil
}
