//! The attribute `#[tool]` of mcpedge-capability, which documents it.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitBool, LitStr, Meta, PathArguments, Result, Token, Type};

#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function: Tokens = item.clone().into();
    let generated = syn::parse(attribute).and_then(|options| generate(options, &syn::parse(item)?));
    let generated = generated.unwrap_or_else(Error::into_compile_error);
    quote!(#function #generated).into()
}

/// The arguments of the attribute.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    description: Option<LitStr>,
    /// Calls of methods of `Tool`.
    calls: Vec<Tokens>,
}

const OPTIONS: &str = "name, title, description, read_only, idempotent, destructive = bool, open_world = bool and allow_unknown_arguments";

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            options.option(&input.parse::<Ident>()?, input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl Options {
    fn option(&mut self, name: &Ident, input: ParseStream) -> Result<()> {
        let text = || input.parse::<Token![=]>().and_then(|_| input.parse::<LitStr>());
        // A flag may have a value: `read_only`, `read_only = true`.
        let flag = || -> Result<bool> {
            if !input.peek(Token![=]) {
                return Ok(true);
            }
            input.parse::<Token![=]>()?;
            Ok(input.parse::<LitBool>()?.value)
        };
        match name.to_string().as_str() {
            "name" => self.name = Some(text()?),
            "description" => self.description = Some(text()?),
            "title" => {
                let title = text()?;
                self.calls.push(quote!(.title(#title)));
            }
            "read_only" | "idempotent" | "allow_unknown_arguments" => {
                if flag()? {
                    self.calls.push(quote!(.#name()));
                }
            }
            "destructive" | "open_world" => {
                let value = flag()?;
                self.calls.push(quote!(.#name(#value)));
            }
            "annotations" => {
                let message =
                    "there is no option `annotations`; write read_only, idempotent, destructive = false, open_world = false or title";
                return Err(Error::new(name.span(), message));
            }
            other => {
                let message = format!(
                    "there is no option `{other}`, only {OPTIONS}; other options are methods of the Tool, as in greet_tool().tasks(…)"
                );
                return Err(Error::new(name.span(), message));
            }
        }
        Ok(())
    }
}

/// Generates the function that returns the tool.
fn generate(options: Options, function: &ItemFn) -> Result<Tokens> {
    let signature = &function.sig;
    if let Some(generic) = signature.generics.params.first() {
        return Err(Error::new_spanned(generic, "a tool has no generic parameters: its schema is that of one type"));
    }
    let mut receiver = None;
    let mut types = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(this) => {
                let text = quote!(#this).to_string().replace(' ', "");
                if text != "&self" {
                    return Err(Error::new_spanned(this, "a tool takes &self: its calls run at the same time"));
                }
                receiver = Some(this);
            }
            FnArg::Typed(parameter) => types.push(&*parameter.ty),
        }
    }
    check(&types)?;
    let name = &signature.ident;
    let listed = options.name.unwrap_or_else(|| LitStr::new(&unraw(name), name.span()));
    let description = options.description.map_or_else(|| documentation(&function.attrs), |d| d.value());
    let (visibility, calls) = (&function.vis, &options.calls);
    let generated = format_ident!("{}_tool", unraw(name), span = name.span());
    let about = format!("Returns the tool of `{}`.", unraw(name));
    let parameters: Vec<Ident> = (0..types.len()).map(|i| format_ident!("p{i}")).collect();
    let wait = signature.asyncness.is_some().then(|| quote!(.await));
    let (takes, handler) = if receiver.is_some() {
        let call = quote!(Self::#name(&this, #(#parameters),*) #wait);
        let handler = quote!({
            let this = ::std::sync::Arc::clone(self);
            move |#(#parameters: #types),*| {
                let this = ::std::sync::Arc::clone(&this);
                async move { #call }
            }
        });
        (quote!(self: &::std::sync::Arc<Self>), handler)
    } else if signature.asyncness.is_some() {
        (quote!(), quote!(#name))
    } else {
        (quote!(), quote!(move |#(#parameters: #types),*| async move { #name(#(#parameters),*) }))
    };
    Ok(quote! {
        #[doc = #about]
        #visibility fn #generated(#takes) -> ::mcpedge_capability::Tool {
            ::mcpedge_capability::Tool::new(#listed, #description, #handler)#(#calls)*
        }
    })
}

fn unraw(name: &Ident) -> String {
    let text = name.to_string();
    text.strip_prefix("r#").map(str::to_string).unwrap_or(text)
}

/// Refuses parameters that cannot be arguments, with the definition to write.
fn check(types: &[&Type]) -> Result<()> {
    let is_call = |ty: &Type| last(ty).is_some_and(|name| name == "Call");
    for (i, ty) in types.iter().enumerate() {
        let Some(name) = last(ty) else {
            return Err(Error::new_spanned(ty, "arguments are a struct that derives serde::Deserialize and schemars::JsonSchema"));
        };
        if ["RequestContext", "Peer", "Extension", "Meta", "CancellationToken"].contains(&name.as_str()) {
            return Err(Error::new_spanned(ty, format!("there is no {name} here; take `call: Call` as the first parameter")));
        }
        if is_call(ty) && i > 0 {
            return Err(Error::new_spanned(ty, "the Call is the first parameter, before the arguments"));
        }
    }
    let arguments: Vec<&Type> = types.iter().copied().filter(|ty| !is_call(ty)).collect();
    let plain = [
        "String", "str", "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize", "isize", "Option",
        "Vec",
    ];
    let is_plain = |ty: &Type| last(ty).is_some_and(|name| plain.contains(&name.as_str()));
    if let Some(wrong) = arguments.iter().find(|ty| is_plain(ty)).or(arguments.get(1)) {
        let message = "arguments are the members of one struct: #[derive(Deserialize, JsonSchema)] struct Arguments { … }, and take it as `arguments: Arguments`";
        return Err(Error::new_spanned(wrong, message));
    }
    Ok(())
}

/// Returns the last name of the path of a type; `None` if it is not a path.
fn last(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|s| match &s.arguments {
            PathArguments::Parenthesized(_) => String::new(),
            _ => s.ident.to_string(),
        }),
        Type::Reference(reference) => last(&reference.elem).filter(|name| name == "str"),
        _ => None,
    }
}

/// Joins the lines of a documentation comment.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|a| match &a.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_string()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::generate;

    fn refused(attribute: &str, function: &str) -> String {
        let generated = syn::parse_str(attribute).and_then(|options| generate(options, &syn::parse_str(function)?));
        generated.map(|code| panic!("{function} became {code}")).unwrap_or_else(|e: syn::Error| e.to_string())
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (attribute, function, says) in [
            ("annotations(read_only_hint = true)", "async fn a() {}", "write read_only, idempotent"),
            ("meta = x", "async fn a() {}", "there is no option `meta`, only name, title, description"),
            ("name = 1", "async fn a() {}", "expected string literal"),
            ("", "async fn a(a: i32, b: i32) {}", "arguments are the members of one struct"),
            ("", "async fn a(name: String) {}", "arguments are the members of one struct"),
            ("", "async fn a(name: &str) {}", "arguments are the members of one struct"),
            ("", "async fn a(a: A, b: B) {}", "arguments are the members of one struct"),
            ("", "async fn a(a: (A, B)) {}", "arguments are a struct that derives serde::Deserialize"),
            ("", "async fn a(a: A, call: Call) {}", "the Call is the first parameter"),
            ("", "async fn a(context: RequestContext<RoleServer>) {}", "there is no RequestContext here; take `call: Call`"),
            ("", "async fn a(&mut self) {}", "a tool takes &self"),
            ("", "async fn a<T>(a: T) {}", "no generic parameters"),
        ] {
            let text = refused(attribute, function);
            assert!(text.contains(says), "{function}: {text}");
        }
    }
}
