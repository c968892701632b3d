//go:build access

package access

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// program is a client that is a process. It is told what to do by lines on its standard input, and answers each by one on its
// standard output, both of them JSON; before the answer it may ask to have its user log in.
type program struct {
	in    io.WriteCloser
	lines chan string
	login login
	log   *strings.Builder
	done  chan struct{}
}

// command is a line to the program: what to do, or what came of a login.
type command struct {
	Do       string `json:"do,omitempty"` // connect, list or call
	Tool     string `json:"tool,omitempty"`
	Callback string `json:"callback,omitempty"` // the query of the client's page
	Error    string `json:"error,omitempty"`    // why there is none
}

// answer is a line of the program.
type answer struct {
	Login string   `json:"login"` // a link for the user
	OK    bool     `json:"ok"`
	Names []string `json:"names"`
	Text  string   `json:"text"`
	Error string   `json:"error"`
}

// newProgram makes a client of a command line, to which the edge's URL, the redirect URL and the client's id are added.
func newProgram(line ...string) func(t *testing.T, edge, redirect, id string, login login) client {
	return func(t *testing.T, edge, redirect, id string, login login) client {
		t.Helper()
		args := append(line[1:len(line):len(line)], edge, redirect)
		if id != "" {
			args = append(args, id)
		}
		cmd := exec.Command(line[0], args...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		p := &program{in: in, lines: make(chan string), login: login, log: &strings.Builder{}, done: make(chan struct{})}
		cmd.Stderr = p.log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(p.done)
			for scanner := bufio.NewScanner(out); scanner.Scan(); {
				p.lines <- scanner.Text()
			}
			close(p.lines)
			_ = cmd.Wait()
		}()
		t.Cleanup(func() {
			_ = p.close()
			await.Receive(t, "the client ends", p.done)
			if t.Failed() {
				t.Logf("the client:\n%s", p.log)
			}
		})
		return p
	}
}

func (p *program) tell(c command) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = p.in.Write(append(raw, '\n'))
	return err
}

// do has the program do something, and its user log in meanwhile.
func (p *program) do(ctx context.Context, c command) (a answer, err error) {
	if err := p.tell(c); err != nil {
		return a, err
	}
	for {
		select {
		case line, open := <-p.lines:
			if !open {
				return a, errors.New("the client has ended")
			}
			a = answer{}
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				return a, fmt.Errorf("%q: %w", line, err)
			}
		case <-ctx.Done():
			return a, ctx.Err()
		}
		switch {
		case a.Login != "":
			if err := p.tell(p.back(ctx, a.Login)); err != nil {
				return a, err
			}
		case a.Error != "":
			return a, errors.New(a.Error)
		default:
			return a, nil
		}
	}
}

func (p *program) back(ctx context.Context, link string) command {
	var q url.Values
	q, err := p.login(ctx, link)
	if err != nil {
		return command{Error: err.Error()}
	}
	return command{Callback: q.Encode()}
}

func (p *program) connect(ctx context.Context) error {
	_, err := p.do(ctx, command{Do: "connect"})
	return err
}

func (p *program) list(ctx context.Context) ([]string, error) {
	a, err := p.do(ctx, command{Do: "list"})
	return a.Names, err
}

func (p *program) call(ctx context.Context, tool string) (string, error) {
	a, err := p.do(ctx, command{Do: "call", Tool: tool})
	return a.Text, err
}

func (p *program) close() error { return p.in.Close() }
