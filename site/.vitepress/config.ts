import { slug } from "github-slugger";
import { defineConfig } from "vitepress";

const repository = "https://github.com/mcpedge/mcpedge";

const base = process.env.SITE_BASE ?? "/";

/** A page's path below pages/, of a link seen from another one; undefined: the link leads out of the documentation. */
function outside(page: string, link: string): string | undefined {
  const target = new URL(link, `http://site/docs/${page}`).pathname.slice(1);
  return target.startsWith("docs/") ? undefined : target;
}

export default defineConfig({
  title: "MCP Edge",
  description: "One edge that speaks the Model Context Protocol to AI clients of every revision, and gRPC to your services.",
  lang: "en",
  srcDir: "pages",
  outDir: "dist",
  base,
  lastUpdated: false,
  head: [
    ["meta", { name: "theme-color", content: "#0f766e" }],
    ["link", { rel: "icon", type: "image/svg+xml", href: `${base}icon.svg` }],
  ],
  sitemap: { hostname: process.env.SITE_URL ?? "https://mcpedge.github.io" },
  rewrites: { "README.md": "contents.md" },
  // Addresses of the reader's own machine are no links of the site.
  ignoreDeadLinks: [/^https?:\/\/(localhost|127\.0\.0\.1)/],
  // The theme gives the front page no landmark.
  transformHtml: (html) => html.replace(/<div class="VPContent is-home"/, '$& role="main"'),
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: slug }, // links in docs/ are those of the repository's pages
    config(md) {
      // Files of the repository that are no pages are shown by the repository.
      const open = md.renderer.rules.link_open;
      md.renderer.rules.link_open = (tokens, i, options, env, self) => {
        const token = tokens[i]!;
        const href = token.attrGet("href") ?? "";
        if (/^\.\.?\//.test(href)) {
          const target = outside(env.relativePath, href);
          if (target !== undefined) token.attrSet("href", `${repository}/blob/main/${target}`);
        }
        return open ? open(tokens, i, options, env, self) : self.renderToken(tokens, i, options);
      };
    },
  },
  themeConfig: {
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: repository, ariaLabel: "Repository" }],
    outline: [2, 3],
    externalLinkIcon: true,
    nav: [
      { text: "Documentation", link: "/contents" },
      { text: "Reference", link: "/reference/settings" },
    ],
    sidebar: [
      {
        text: "Write a backend",
        items: [
          { text: "In Go", link: "/backends/go" },
          { text: "In Python", link: "/backends/python" },
          { text: "In TypeScript", link: "/backends/typescript" },
          { text: "In Java", link: "/backends/java" },
          { text: "In Rust", link: "/backends/rust" },
          { text: "In C#", link: "/backends/csharp" },
          { text: "In every language", link: "/backends/languages" },
          { text: "When a handler fails", link: "/backends/failures" },
          { text: "A gRPC service as it is", link: "/reflect" },
          { text: "Tasks", link: "/tasks" },
          { text: "Extensions", link: "/extensions" },
          { text: "Schemas", link: "/schemas" },
        ],
      },
      {
        text: "Run it",
        items: [
          { text: "Installation", link: "/install" },
          { text: "Configuration", link: "/configuration" },
          { text: "Access", link: "/access" },
          { text: "Security", link: "/security" },
          { text: "Production", link: "/production" },
          { text: "Upgrading", link: "/upgrading" },
          { text: "Containers", link: "/containers" },
          { text: "Kubernetes", link: "/kubernetes" },
          { text: "Scaling", link: "/scaling" },
          { text: "State in Redis", link: "/state" },
          { text: "Telemetry", link: "/telemetry" },
          { text: "Administration", link: "/admin" },
          { text: "Performance", link: "/performance" },
        ],
      },
      {
        text: "Clients",
        items: [
          { text: "Which clients work", link: "/clients" },
          { text: "stdio", link: "/stdio" },
          { text: "HTTP+SSE", link: "/http-sse" },
          { text: "Revisions", link: "/revisions" },
        ],
      },
      {
        text: "Reference",
        items: [
          { text: "Settings", link: "/reference/settings" },
          { text: "Metrics", link: "/reference/metrics" },
          { text: "Error codes", link: "/reference/errors" },
          { text: "Values of the chart", link: "/reference/values" },
          { text: "Releasing", link: "/releasing" },
        ],
      },
    ],
    footer: { message: "Apache-2.0" },
  },
});
