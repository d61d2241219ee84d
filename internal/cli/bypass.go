package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/statefile"
)

// bypassFile records, in the state directory, that the user knows what the mode
// bypassPermissions means.
const bypassFile = "bypass-accepted"

// CheckBypass refuses the mode bypassPermissions to root outside of a sandbox.
func CheckBypass(mode string, getenv func(string) string) error {
	return checkBypass(mode, os.Geteuid() == 0 && !inSandbox(getenv))
}

func checkBypass(mode string, exposed bool) error {
	if mode != string(permission.Bypass) || !exposed {
		return nil
	}
	return Usagef("the permission mode %s is refused for root, whose commands can change everything; run swarm as another user or in a container, or set IS_SANDBOX=1 in a machine that may be lost", mode)
}

// inSandbox reports whether this is a container, or whether the user says that the machine
// may be lost.
func inSandbox(getenv func(string) string) bool {
	for _, name := range []string{"IS_SANDBOX", "container", "KUBERNETES_SERVICE_HOST"} {
		if v := getenv(name); v != "" && v != "0" {
			return true
		}
	}
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// AskBypass asks the user once whether agents may run everything without a question. The
// answer is kept if it is yes.
func (c *Console) AskBypass(mode string) error {
	if mode != string(permission.Bypass) {
		return nil
	}
	state, err := c.Sessions().StateDir()
	if err != nil {
		return err
	}
	path := filepath.Join(state, bypassFile)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sure, err := c.Confirm("In the mode bypassPermissions every agent runs every command and changes every file that you could, without a question. Go on? You are asked once.")
	if err != nil {
		return err
	}
	if !sure {
		return Usagef("the permission mode %s was not accepted; use another --permission-mode, such as acceptEdits", mode)
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fmt.Errorf("make the directory for sessions: %w", err)
	}
	return statefile.Write(path, []byte(time.Now().UTC().Format(time.RFC3339)+"\n"))
}
