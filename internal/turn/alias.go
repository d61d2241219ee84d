package turn

import "github.com/actorswarm/swarm/agent"

// User is agent.UserID.
const User = agent.UserID
