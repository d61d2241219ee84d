// Package ids makes the ids of requests, plans and questions. What is asked again after
// a restart has the same id:
//
//	id := ids.Plan(agent, steps, call)
package ids

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// Request returns the id of a request of from to to: the same for the same key,
// and a new one without a key.
func Request(from, to mailbox.AgentID, key string) string {
	if key == "" {
		key = rand.Text()
	}
	sum := hash(string(from), string(to), key)
	return "q" + hex.EncodeToString(sum[:6])
}

// Plan returns the id of the plan that an agent shows with a call. answers counts
// the agent's answers up to the one with the call.
func Plan(by mailbox.AgentID, answers int, call string) string {
	sum := hash(string(by), strconv.Itoa(answers), call)
	return "p" + hex.EncodeToString(sum[:6])
}

var questions = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Question returns the id of the question about a call of an agent. It differs for
// every other call, also if a provider uses the ids of calls again: answers
// counts the agent's answers up to the one with the call.
func Question(by mailbox.AgentID, answers int, c model.Call) string {
	sum := hash(string(by), strconv.Itoa(answers), c.ID, c.Name, string(c.Input))
	return questions.EncodeToString(sum[:5])
}

func hash(parts ...string) [sha256.Size]byte {
	text := ""
	for _, p := range parts {
		text += fmt.Sprintf("%d:%s", len(p), p)
	}
	return sha256.Sum256([]byte(text))
}
