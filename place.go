package swarm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors"
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
	Deadlines actors.Deadlines `json:"deadlines,omitzero"`
	Agents    string           `json:"agents,omitempty"`
	System    string           `json:"system,omitempty"`
	Budget    Limits           `json:"budget,omitzero"`
	PerChild  Limits           `json:"child_budget,omitzero"`
	NATS      NATS             `json:"nats,omitzero"`
	Inbound   Inbound          `json:"inbound,omitempty"` // as it was given

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

// stateDir returns the directory under which the session is kept.
func (i Info) stateDir() string { return filepath.Dir(filepath.Dir(filepath.Dir(i.Path))) }

const infoFile = "session.json"

// Socket returns the path of the socket on which a running session answers.
// It is short, whatever the session's directory, since the system limits it.
func (i Info) Socket(stateDir string) string {
	path := filepath.Join(stateDir, "run", i.ID+".sock")
	if len(path) < 100 {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(os.TempDir(), fmt.Sprintf("swarm-%d", os.Getuid()), hex.EncodeToString(sum[:8])+".sock")
}

// validID keeps a session's id fit for paths and subjects.
func validID(id string) error {
	ok := len(id) > 0 && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
	if !ok {
		return fmt.Errorf("%q is not a session id: use lower-case letters, digits and hyphens, at most 64", id)
	}
	return nil
}

// projectDir is the folder of all sessions of one working directory.
func projectDir(stateDir, dir string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, dir)
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(stateDir, "projects", name[max(0, len(name)-80):]+"-"+hex.EncodeToString(sum[:4]))
}

// NoSessionError reports a session that is not there.
type NoSessionError struct {
	ID    string
	Known []string // newest first
}

func (e *NoSessionError) Error() string {
	if e.ID == "" {
		return "there is no session here yet; start one with: swarm run PROMPT"
	}
	text := fmt.Sprintf("there is no session %q", e.ID)
	if len(e.Known) > 0 {
		text += "; the newest are: " + strings.Join(e.Known[:min(5, len(e.Known))], ", ")
	}
	return text
}

// Sessions returns every session kept in stateDir, newest first; with dir, only
// those of that working directory.
func Sessions(stateDir, dir string) ([]Info, error) {
	pattern := filepath.Join(stateDir, "projects", "*", "*", infoFile)
	if dir != "" {
		pattern = filepath.Join(projectDir(stateDir, dir), "*", infoFile)
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("list the sessions of %s: %w", stateDir, err)
	}
	var all []Info
	for _, p := range paths {
		info, err := readInfo(p)
		if err != nil {
			continue // a session that is just being made, or a folder of somebody else
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b Info) int { return b.Created.Compare(a.Created) })
	return all, nil
}

// FindSession returns the session with an id, or with the one id that begins
// so. With an empty id it returns the newest session of dir.
func FindSession(stateDir, dir, id string) (Info, error) {
	within := ""
	if id == "" {
		within = dir
	}
	all, err := Sessions(stateDir, within)
	if err != nil {
		return Info{}, err
	}
	var match []Info
	var known []string
	for _, info := range all {
		known = append(known, info.ID)
		if info.ID == id {
			return info, nil
		}
		if strings.HasPrefix(info.ID, id) {
			match = append(match, info)
		}
	}
	if len(match) == 1 || id == "" && len(match) > 0 {
		return match[0], nil
	}
	return Info{}, &NoSessionError{ID: id, Known: known}
}

func readInfo(path string) (Info, error) {
	var info Info
	raw, err := os.ReadFile(path)
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return info, fmt.Errorf("%s: %w", path, err)
	}
	info.Path = filepath.Dir(path)
	return info, nil
}

// write puts the session's file in place at once and on disk.
func (i Info) write() error {
	raw, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", infoFile, err)
	}
	return writeFile(filepath.Join(i.Path, infoFile), append(raw, '\n'))
}

// writeFile puts a file in place at once and on disk.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return stateError(filepath.Dir(path), err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return stateError(filepath.Dir(path), err)
	}
	return os.Rename(path+".new", path)
}

// makeDirs makes the folders of a session, readable by nobody else.
func (i Info) makeDirs() error {
	for _, sub := range []string{"", "journal", "transcripts", "outputs", "jetstream"} {
		if err := os.MkdirAll(filepath.Join(i.Path, sub), 0o700); err != nil {
			return stateError(i.Path, err)
		}
	}
	return nil
}

// stateError says what to do about a state directory that cannot be used.
func stateError(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), strings.Contains(err.Error(), "read-only"):
		return fmt.Errorf("the state directory %s cannot be written; make it writable or set SWARM_HOME to another: %w", dir, err)
	case strings.Contains(err.Error(), "no space"):
		return fmt.Errorf("the disk of the state directory %s is full; make room or set SWARM_HOME to another: %w", dir, err)
	}
	return fmt.Errorf("the state directory %s cannot be used; set SWARM_HOME to another: %w", dir, err)
}
