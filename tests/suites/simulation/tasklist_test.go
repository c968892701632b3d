package simulation

import (
	"encoding/json"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// listing is a read of the list of all tasks, page by page. All clients have one principal.
type listing struct {
	k *taskClient
	// known are the tasks that clients knew when it began, by their ids: their ends, empty for those that had none.
	known map[string]string
	seen  []listed
}

// listed is a task in a list.
type listed struct{ TaskID, Status string }

// list lists the tasks.
func (k *taskClient) list() {
	l := &listing{k: k, known: map[string]string{}}
	for _, o := range k.w.tasks {
		if o.task != "" && !o.expired && o.unknown == 0 {
			l.known[o.task] = o.status
		}
	}
	l.page("{}")
}

// page reads a page of the list, and those behind it.
func (l *listing) page(params string) {
	l.k.ask(mcp.MethodTasksList, params, nil, func(reply mcp.Reply, err error) {
		var got struct {
			Tasks      []listed
			NextCursor string
		}
		if err != nil {
			l.k.w.judge.refused(l.k, "a list", err)
			return
		}
		if err := json.Unmarshal(reply.Result, &got); err != nil {
			l.k.w.judge.fail("%s gets the list %s: %v", l.k.id, reply.Result, err)
			return
		}
		l.seen = append(l.seen, got.Tasks...)
		if got.NextCursor != "" {
			cursor, _ := json.Marshal(map[string]string{"cursor": got.NextCursor})
			l.page(string(cursor))
			return
		}
		l.k.w.judge.list(l)
	})
}

// list judges a list: the newest task is the first, each is there once, and none is missing or has lost its end.
func (j *judge) list(l *listing) {
	for i := 1; i < len(l.seen); i++ {
		if l.seen[i-1].TaskID <= l.seen[i].TaskID {
			j.fail("the list of %s has %s after %s", l.k.id, l.seen[i].TaskID, l.seen[i-1].TaskID)
		}
	}
	for _, k := range j.w.tasks {
		ended, known := l.known[k.task]
		if !known || !j.calm() {
			continue
		}
		i := slices.IndexFunc(l.seen, func(o listed) bool { return o.TaskID == k.task })
		switch {
		case i < 0 && !k.expired:
			j.fail("%s is missing in the list of %s", k.id, l.k.id)
		case i >= 0 && ended != "" && l.seen[i].Status != ended:
			j.fail("%s is %s in the list of %s, though it was %s", k.id, l.seen[i].Status, l.k.id, ended)
		}
	}
}
