package session

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// NATS is an external server or cluster that a session uses instead of its own. It needs
// JetStream. Any client that may publish below sw.<session> there can act as any agent of
// the session: the permissions of that server must prevent it.
type NATS struct {
	URL      string `json:"url,omitempty"`      // nats://host:port, several separated by commas
	Creds    string `json:"creds,omitempty"`    // path of a .creds file, or of an nkey seed
	Replicas int    `json:"replicas,omitempty"` // of the streams, in a cluster; 0 is 1
}

// Validate checks what can be checked without connecting.
func (n NATS) Validate() error {
	if n.URL == "" {
		if n.Creds != "" || n.Replicas != 0 {
			return errors.New("credentials and replicas are for a NATS server of others; name it with --nats")
		}
		return nil
	}
	for _, one := range strings.Split(n.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			return errors.New("the URL of the NATS server is not valid; write nats://host:port, or tls://, ws:// or wss://")
		case u.User != nil:
			return fmt.Errorf("the URL of the NATS server %s holds a password or token, which would be kept with the session; put credentials in a file and give it with --nats-creds", u.Host)
		}
	}
	if n.Replicas < 0 || n.Replicas > 5 {
		return fmt.Errorf("%d replicas of a stream cannot be had; give 1 to 5", n.Replicas)
	}
	return nil
}
