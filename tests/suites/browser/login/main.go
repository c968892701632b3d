// Command login has a headless Chromium log a user in: it opens a page, fills in the forms that it is led through, and ends once
// it is at a page with an element with the id "done". `make stages ONLY=access` uses it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/chromedp"
)

// patience bounds the whole login.
const patience = 60 * time.Second

// state is what the page is: "done", "form", or "" while there is neither, or a form that was submitted before.
const state = `document.readyState !== "complete" ? "" :
	document.getElementById("done") ? "done" :
	document.querySelector("form [type=submit]") && !window.submitted ? "form" : ""`

// submit fills in what there is to fill in, and presses the first button.
const submit = `(user, password) => {
	window.submitted = true
	for (const field of document.querySelectorAll("form input")) {
		if (field.type === "password") field.value = password
		else if (["username", "login"].includes(field.name)) field.value = user
	}
	document.querySelector("form [type=submit]").click()
}`

func main() {
	user := flag.String("user", "", "the name that is filled in")
	password := flag.String("password", "", "the password that is filled in")
	profile := flag.String("profile", "", "directory that keeps cookies from one run to the next")
	flag.Parse()
	if err := login(*profile, flag.Arg(0), *user, *password); err != nil {
		fmt.Fprintln(os.Stderr, "login:", err)
		os.Exit(1)
	}
}

func login(profile, page, user, password string) error {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.UserDataDir(profile))
	if os.Geteuid() == 0 { // Chromium's sandbox refuses to run as root
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	defer stop()
	ctx, end := chromedp.NewContext(ctx)
	defer end()
	if err := chromedp.Do(ctx, chromedp.Navigate(page)); err != nil {
		return err
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		// Between two pages there is nothing to ask.
		is, err := chromedp.Run(ctx, chromedp.Evaluate[string](state))
		switch {
		case err == nil && is == "done":
			return chromedp.Cancel(ctx) // in order, so that cookies are written
		case err == nil && is == "form":
			if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf("(%s)(%q, %q)", submit, user, password))); err != nil {
				return err
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("not at its end within %v (%w)", patience, err)
		}
	}
}
