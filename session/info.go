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

// Info is what is known of a session without opening it.
type Info struct {
	ID      string    `json:"id"`
	Dir     string    `json:"dir"` // where its agents work
	Path    string    `json:"-"`   // where its state is kept
	Created time.Time `json:"created"`
	Prompt  string    `json:"prompt,omitempty"` // first line of the first prompt, or the team that was brought up before

	// What the session was started with, for those who open it again.
	Model    string   `json:"model,omitempty"`
	Mode     string   `json:"mode"`
	Allow    []string `json:"allow,omitempty"`
	Deny     []string `json:"deny,omitempty"`
	Granted  []string `json:"granted,omitempty"` // allow rules that answers for always have added
	MaxTurns int      `json:"max_turns,omitempty"`
	// Deadlines are those that were given; the rest are the defaults.
	Deadlines agent.Deadlines `json:"deadlines,omitzero"`
	Agents    string          `json:"agents,omitempty"`
	Settings  string          `json:"settings,omitempty"` // the value of --settings
	System    string          `json:"system,omitempty"`
	Budget    budget.Limits   `json:"budget,omitzero"`
	PerChild  budget.Limits   `json:"child_budget,omitzero"`
	NATS      NATS            `json:"nats,omitzero"`
	Inbound   Inbound         `json:"inbound,omitempty"` // as it was given

	InboundExpiry time.Duration `json:"inbound_expiry,omitempty"` // in nanoseconds
	// Listen and ListenWebSocket are where its bus listens.
	Listen          string   `json:"listen,omitempty"`
	ListenWebSocket string   `json:"listen_websocket,omitempty"`
	ListenCert      string   `json:"listen_cert,omitempty"`
	ListenKey       string   `json:"listen_key,omitempty"`
	Bridges         []Bridge `json:"bridges,omitempty"` // what was said about sessions elsewhere

	AddDirs    []string `json:"add_dirs,omitempty"`
	PluginDirs []string `json:"plugin_dirs,omitempty"`
}

// RecordName is the name of the record in the directory of a session.
const RecordName = "session.json"

// StateDir returns the directory under which the session is kept.
func (i Info) StateDir() string { return filepath.Dir(filepath.Dir(filepath.Dir(i.Path))) }

// Open reports whether some process has the session open, also while it does
// not answer yet or any more.
func (i Info) Open() bool { return journal.InUse(filepath.Join(i.Path, "journal")) }

// Socket returns the path of the socket on which a running session answers.
// It is short, whatever the session's directory, since the system limits it.
func (i Info) Socket(stateDir string) string {
	path := filepath.Join(stateDir, "run", i.ID+".sock")
	if len(path) < 100 {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(SocketDir(), hex.EncodeToString(sum[:8])+".sock")
}

// SocketDir is where the sockets are whose path would be too long below the state.
func SocketDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("swarm-%d", os.Getuid()))
}

// MakeDirs makes the directories of a session, readable by nobody else.
func (i Info) MakeDirs() error {
	return statefile.MakeDirs(i.Path, "", "journal", "transcripts", "outputs", "jetstream")
}

// Write puts the record on disk, in one step.
func (i Info) Write() error {
	raw, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", RecordName, err)
	}
	return statefile.Write(filepath.Join(i.Path, RecordName), append(raw, '\n'))
}

// Read returns the record that is kept in the directory of a session.
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
