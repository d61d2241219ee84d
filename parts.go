package swarm

import (
	"context"

	"github.com/nats-io/nats.go"
)

// What the processes of a session answer each other has no limit: the results of a
// thousand agents are more than a message of NATS holds. Such an answer goes in
// several messages.
const (
	moreHeader = "Swarm-More" // on each of them but the last
	headerRoom = 1 << 10      // bytes of a message that are not for its text
)

// respondInParts answers a request that askInParts has made.
func respondInParts(conn *nats.Conn, m *nats.Msg, raw []byte) error {
	most := int(conn.MaxPayload()) - headerRoom
	for len(raw) > most {
		part := nats.NewMsg(m.Reply)
		part.Data = raw[:most]
		part.Header.Set(moreHeader, "1")
		if err := m.RespondMsg(part); err != nil {
			return err
		}
		raw = raw[most:]
	}
	return m.Respond(raw)
}

// askInParts asks and returns the whole answer.
func askInParts(ctx context.Context, conn *nats.Conn, subject string, data []byte) ([]byte, error) {
	inbox := conn.NewRespInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // it fails with the connection, which has been told then
	if err := conn.PublishRequest(subject, inbox, data); err != nil {
		return nil, err
	}
	var whole []byte
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		whole = append(whole, m.Data...)
		if m.Header.Get(moreHeader) == "" {
			return whole, nil
		}
	}
}
