package swarm

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
)

// NATS is a server or cluster that a session uses instead of its own. It needs
// JetStream. Whoever may publish below sw.<session> there can speak as any agent
// of the session: the permissions of that server are what keeps them apart.
type NATS struct {
	URL      string `json:"url,omitempty"`      // nats://host:port, several with commas between
	Creds    string `json:"creds,omitempty"`    // path of a .creds file, or of an nkey seed
	Replicas int    `json:"replicas,omitempty"` // of the streams, in a cluster; 0 is 1
}

// settle checks what can be checked without connecting.
func (n *NATS) settle() (err error) {
	if n.URL == "" {
		if n.Creds != "" || n.Replicas != 0 {
			return &OptionError{errors.New("credentials and replicas are for a NATS server of others; name it with --nats")}
		}
		return nil
	}
	for _, one := range strings.Split(n.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			return &OptionError{errors.New("the URL of the NATS server is not valid; write nats://host:port, or tls://, ws:// or wss://")}
		case u.User != nil:
			return &OptionError{fmt.Errorf("the URL of the NATS server %s holds a password or token, which would be kept with the session; put credentials in a file and give it with --nats-creds", u.Host)}
		}
	}
	if n.Replicas < 0 || n.Replicas > 5 {
		return &OptionError{fmt.Errorf("%d replicas of a stream cannot be had; give 1 to 5", n.Replicas)}
	}
	if n.Creds == "" {
		return nil
	}
	if n.Creds, err = filepath.Abs(n.Creds); err != nil {
		return fmt.Errorf("find the credentials of the NATS server: %w", err)
	}
	return nil
}

func (n NATS) connect(s *Session) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("swarm session " + s.info.ID), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.CustomInboxPrefix(inboxPrefix(string(mailbox.OfSession(s.info.ID)))), // which nobody else need be let listen to
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			s.bus.Publish(event.Agent{ID: actors.LeadID, Name: actors.LeadName}, event.Warning{Text: "the NATS server: " + err.Error()})
		}),
	}
	creds, err := n.credentials()
	if err != nil {
		return nil, err
	}
	if creds != nil {
		options = append(options, creds)
	}
	conn, err := nats.Connect(n.URL, options...)
	if err != nil {
		return nil, n.unreached(err)
	}
	return conn, nil
}

// unreached says what to do about a server that cannot be used.
func (n NATS) unreached(err error) error {
	because := func(format string, args ...any) error {
		return fmt.Errorf("the NATS server %s "+format+": %w", append(append([]any{n.URL}, args...), err)...)
	}
	unknown := (*net.DNSError)(nil)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		if n.Creds == "" {
			return because("lets nobody in without credentials; give those of one of its users with --nats-creds FILE")
		}
		return because("does not let in whom %s is of; give the credentials of one of its users with --nats-creds FILE", n.Creds)
	case errors.As(err, &unknown):
		return because("has a host that is not known here; name another with --nats URL")
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return because("has a certificate that is not believed here; name the file of its authority in SSL_CERT_FILE, or a host that the certificate is for")
	case errors.Is(err, nats.ErrNoServers):
		return because("does not answer: nobody listens there; start it, or name another with --nats URL")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return because("does not answer as one: something else may listen there; name another with --nats URL")
	}
	return because("cannot be used; name another with --nats URL")
}

// credentials reads the file as what it is.
func (n NATS) credentials() (nats.Option, error) {
	if n.Creds == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(n.Creds)
	if err != nil {
		return nil, fmt.Errorf("the credentials of the NATS server cannot be read; name their file with --nats-creds FILE: %w", err)
	}
	defer clear(raw)
	if bytes.Contains(raw, []byte("BEGIN NATS USER JWT")) {
		return nats.UserCredentials(n.Creds), nil
	}
	key, err := nats.NkeyOptionFromSeed(n.Creds)
	if err != nil {
		return nil, fmt.Errorf("%s holds neither NATS credentials nor an nkey seed; name another file with --nats-creds FILE: %w", n.Creds, err)
	}
	return key, nil
}

// exposed says what is wrong with listeners that others than this machine reach.
func (o *Options) exposed() []string {
	var all []string
	if o.ListenCert != "" {
		return nil
	}
	for _, listen := range []string{o.Listen, o.ListenWebSocket} {
		host, _, err := net.SplitHostPort(listen)
		if err != nil || host == "localhost" {
			continue
		}
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			all = append(all, fmt.Sprintf("the message bus listens on %s without TLS: keys are safe, and whoever is on the way reads what is said; give it a certificate with --listen-cert FILE --listen-key FILE, or listen on 127.0.0.1 and let others come through ssh", listen))
		}
	}
	return all
}
