package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/statefile"
)

// The variables that hold the token of a member, or name a file that does.
const (
	TokenVariable     = "SWARM_TOKEN"
	TokenFileVariable = "SWARM_TOKEN_FILE"
)

// TokenFile is where swarm mcp config writes the token of a member of a session: below the
// state directory, which no command of an agent can read.
func TokenFile(info swarm.Info, name string) string {
	return filepath.Join(info.Path, "bus", name+".token")
}

// Token returns the token that proves that this program is a member: what the environment
// holds or names, or what MakeToken has written; "" if there is none.
func Token(con *Console, info swarm.Info, name string) (string, error) {
	if token := con.Getenv(TokenVariable); token != "" {
		return token, nil
	}
	path := con.Getenv(TokenFileVariable)
	given := path != ""
	if !given {
		path = TokenFile(info, name)
	}
	raw, err := os.ReadFile(path)
	switch {
	case err == nil:
		return strings.TrimSpace(string(raw)), nil
	case !given && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
		return "", nil
	}
	return "", fmt.Errorf("read the token of %s: %w", name, err)
}

// MakeToken returns the file with the token of a member, which it makes if there is none
// that is valid: an older one of the name is invalid from then on.
func MakeToken(ctx context.Context, con *Console, info swarm.Info, name string) (path string, err error) {
	path = TokenFile(info, name)
	if valid, err := tokenIsValid(info, name); err != nil || valid {
		return path, err
	}
	s, _, err := con.Sessions().Open(info)
	if err != nil {
		return "", err
	}
	defer s.Close()
	made, err := s.AddBusUser(ctx, name)
	if err != nil {
		return "", err
	}
	if err := statefile.Write(path, []byte(made.Seed+"\n")); err != nil {
		return "", fmt.Errorf("write the token of %s: %w", name, err)
	}
	return path, nil
}

// tokenIsValid reports whether the token that was written for a member is that of its name.
func tokenIsValid(info swarm.Info, name string) (bool, error) {
	users, err := swarm.BusUsers(info)
	if err != nil {
		return false, err
	}
	raw, err := os.ReadFile(TokenFile(info, name))
	if err != nil {
		return false, nil //nolint:nilerr // a new one is made
	}
	for _, u := range users {
		if u.Name == name {
			return member.Proves(string(raw), u.Key, info.ID, name), nil
		}
	}
	return false, nil
}
