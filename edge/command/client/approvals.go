package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const approvalsUsage = `mcpedge approvals list [URL]
        lists the calls that wait for the approval of another person: id, age, when it expires, requester, tool, backend, set and the
        names of the approvals, separated by tabs, below a line of titles
mcpedge approvals show ID [URL]
        prints one of them, with its message and its arguments
mcpedge approvals grant ID [URL]
        approves it: it is decided on again, and runs as its requester
mcpedge approvals refuse ID [URL] [--reason TEXT]
        refuses it: it ends with an error that has the reason

ID is that of the list: TASK.APPROVAL. A call that waits again has another one, so that a decision is always on what was read.
URL is that of the admin address of any replica; without it, http://127.0.0.1:9090. All of them need a token that an issuer gave to you as
a user, with the scope of approvers: admin.auth.approve-scope of the edge, mcp:approve by default. Give it by --token-file.

`

// approvals is a command of mcpedge approvals.
type approvals struct {
	*server
	// id is the id of the call, and approval that of the approval; empty if show was given none.
	id, approval, reason string
	out                  io.Writer
}

// Approvals runs mcpedge approvals. It lists, shows, grants or refuses calls that wait for the
// approval of another person. It prints results to out and help to stderr. args are the arguments
// after approvals. It returns flag.ErrHelp if help was requested.
func Approvals(ctx context.Context, args []string, out, stderr io.Writer) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	c := &approvals{server: &server{command: "approvals " + name}, out: out}
	switch name {
	case "list":
		return c.run(ctx, c.list, false, args, stderr)
	case "show":
		return c.run(ctx, c.show, true, args, stderr)
	case "grant":
		return c.run(ctx, c.grant, true, args, stderr)
	case "refuse":
		return c.run(ctx, c.refuse, true, args, stderr)
	case "-h", "-help", "--help":
		c.command = "approvals"
		return c.run(ctx, c.list, false, []string{"--help"}, stderr)
	}
	return errors.New("approvals: write mcpedge approvals list, mcpedge approvals show ID, mcpedge approvals grant ID, or mcpedge approvals refuse ID --reason TEXT")
}

// run parses the command line and runs do. If hasID is true, the first operand is the id of a call,
// and that of its approval after a dot, which show does not need.
func (c *approvals) run(ctx context.Context, do func(context.Context) error, hasID bool, args []string, stderr io.Writer) error {
	flags := c.flagsOfHTTP(approvalsUsage, stderr)
	if c.command == "approvals refuse" || c.command == "approvals" {
		flags.StringVar(&c.reason, "reason", "", "`text` for the requester and the audit, with refuse")
	}
	operands, err := c.parse(flags, args)
	if err != nil {
		return err
	}
	most, what := 1, "mcpedge "+c.command
	if hasID {
		most, what = 2, what+" ID"
		if len(operands) > 0 {
			c.id, c.approval, _ = strings.Cut(operands[0], ".")
		}
		if c.id == "" || strings.Contains(c.id, "/") {
			return c.errorf("%q is not an id: write %s, with an id of mcpedge approvals list", c.id, what)
		}
		if c.approval == "" && c.command != "approvals show" {
			return c.errorf("%q names no approval: write %s, with an id of mcpedge approvals list, which has a dot", c.id, what)
		}
	}
	if len(operands) > most {
		return c.errorf("%d arguments: write %s, or the URL of the admin address after it", len(operands), what)
	}
	if c.url = adminURL; len(operands) == most {
		c.url = operands[most-1]
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	err = do(ctx)
	if status := httpStatus(0); errors.As(err, &status) && status == http.StatusUnauthorized {
		return fmt.Errorf("%w; give --token-file FILE with a token that an issuer gave to you as a user, with the scope of approvers (mcp:approve, unless admin.auth.approve-scope says another)", err)
	}
	return err
}

// waiting is a waiting call in a response of the admin address.
type waiting struct {
	ID, Approval                string
	Names                       []string
	Tool, Backend, Set, Message string
	Requester                   struct{ Subject, Issuer string }
	CreateTime, ExpireTime      time.Time
}

// list prints the waiting calls.
func (c *approvals) list(ctx context.Context) error {
	titled := false
	for token := ""; ; {
		var page struct {
			Approvals     []waiting
			NextPageToken string
		}
		if err := c.administer(ctx, "/v1/approvals?pageToken="+url.QueryEscape(token), "", &page); err != nil {
			return err
		}
		for i := range page.Approvals {
			if !titled {
				titled = true
				if _, err := fmt.Fprintln(c.out, "ID\tAGE\tEXPIRES IN\tREQUESTER\tTOOL\tBACKEND\tSET\tAPPROVALS"); err != nil {
					return err
				}
			}
			w := &page.Approvals[i]
			if _, err := fmt.Fprintf(c.out, "%s\t%v\t%v\t%s\t%s\t%s\t%s\t%s\n", w.reference(), age(w), remaining(w), escaped(w.Requester.Subject),
				escaped(w.Tool), escaped(w.Backend), escaped(w.Set), w.names()); err != nil {
				return err
			}
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if !titled {
		_, err := fmt.Fprintln(c.out, "no call waits for an approval")
		return err
	}
	return nil
}

// show prints one waiting call. The message is last, so that its lines cannot be mistaken for other
// fields.
func (c *approvals) show(ctx context.Context) error {
	w, err := c.request(ctx, "", "")
	if err != nil {
		return err
	}
	if c.approval != "" && c.approval != w.Approval {
		return c.errorf("the approval %q does not wait any more: the call waits for another one; write mcpedge approvals show %s", c.approval, w.reference())
	}
	text := fmt.Sprintf("id:         %s\napprovals:  %s\nrequester:  %s of %s\ntool:       %s\nbackend:    %s\n", w.reference(), w.names(),
		escaped(w.Requester.Subject), escaped(w.Requester.Issuer), escaped(w.Tool), escaped(w.Backend))
	if w.Set != "" {
		text += "set:        " + escaped(w.Set) + "\n"
	}
	text += fmt.Sprintf("since:      %s (%v ago)\nexpires:    %s (in %v)\n\n", w.CreateTime.Format(time.RFC3339), age(w), w.ExpireTime.Format(time.RFC3339), remaining(w))
	for line := range strings.SplitSeq(w.Message, "\n") {
		text += escaped(line) + "\n"
	}
	_, err = io.WriteString(c.out, text)
	return err
}

// grant approves a call.
func (c *approvals) grant(ctx context.Context) error {
	w, err := c.decide(ctx, ":grant", map[string]string{})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "granted: %s is decided on again, and runs unless it needs approvals that you cannot give: then it waits again\n", w)
	return err
}

// refuse refuses a call.
func (c *approvals) refuse(ctx context.Context) error {
	w, err := c.decide(ctx, ":refuse", map[string]string{"reason": c.reason})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "refused: %s does not run\n", w)
	return err
}

// decide sends a decision on the approval c.approval.
func (c *approvals) decide(ctx context.Context, verb string, decision map[string]string) (*waiting, error) {
	decision["approval"] = c.approval
	body, err := json.Marshal(decision)
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	return c.request(ctx, verb, string(body))
}

// request requests a path of the call c.id.
func (c *approvals) request(ctx context.Context, verb, body string) (*waiting, error) {
	var answer struct{ Approval waiting }
	return &answer.Approval, c.administer(ctx, "/v1/approvals/"+url.PathEscape(c.id)+verb, body, &answer)
}

// reference returns the id with which the commands name the call and what it waits for.
func (w *waiting) reference() string { return escaped(w.ID) + "." + escaped(w.Approval) }

// String identifies the call in one line.
func (w *waiting) String() string {
	return fmt.Sprintf("the call of the tool %s of the backend %s by %s", escaped(w.Tool), escaped(w.Backend), escaped(w.Requester.Subject))
}

func (w *waiting) names() string {
	all := make([]string, len(w.Names))
	for i, name := range w.Names {
		all[i] = escaped(name)
	}
	return strings.Join(all, ", ")
}

func age(w *waiting) time.Duration { return max(time.Since(w.CreateTime), 0).Round(time.Second) }

func remaining(w *waiting) time.Duration { return max(time.Until(w.ExpireTime), 0).Round(time.Second) }

// escaped returns a text as one line. It escapes control and invisible characters, because an
// approver must see all that is approved.
func escaped(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return out.String()
}
