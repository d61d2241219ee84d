package permissions

import (
	"slices"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
)

// View returns what the commands list and check print about a session. words are those
// that follow the name of the command, such as check Bash git push.
func View(console *cli.Console, info swarm.Info, words string) string {
	text, err := show(console, info, strings.Fields(words))
	if err != nil {
		return "! " + term.Clean(err.Error())
	}
	return text
}

func show(console *cli.Console, info swarm.Info, words []string) (string, error) {
	s := selection{dir: info.Dir, session: info.ID}
	if i := slices.Index(words, "--agent"); i >= 0 && i+1 < len(words) {
		s.agent, words = words[i+1], slices.Delete(words, i, i+2)
	}
	verb, rest := cli.Arg(words, 0), words[min(1, len(words)):]
	if verb != "" && verb != "list" && verb != "check" {
		return "", cli.Usagef("write /permissions [list] [--agent NAME] or /permissions check CALL; rules are changed by: swarm permissions allow, ask, deny or remove")
	}
	o, err := s.load(console)
	if err != nil {
		return "", err
	}
	if verb != "check" {
		return o.listing().text(), nil
	}
	v, err := o.check(rest)
	return v.text(), err
}
