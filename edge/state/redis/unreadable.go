package redis

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// mostUnreadable bounds the sessions with unreadable records that are logged.
const mostUnreadable = 100

// unreadable reports whether a script failed because of the data that it read, such as a damaged
// record.
func unreadable(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.Contains(reply.Error(), "user_script") && explainReply(err) == ""
}

// skipUnreadable logs, once, that a sweep cannot read a session. The caller holds r.sweeps.busy.
func (r *Replica) skipUnreadable(session string, err error) {
	if _, logged := r.sweeps.unreadable[session]; logged || len(r.sweeps.unreadable) >= mostUnreadable {
		return
	}
	if r.sweeps.unreadable == nil {
		r.sweeps.unreadable = map[string]struct{}{}
	}
	r.sweeps.unreadable[session] = struct{}{}
	r.log.Warn("a session or task in Redis has a damaged record: its calls are not taken over when their replica is lost",
		"session", telemetry.SessionPrint(session), "error", err)
}
