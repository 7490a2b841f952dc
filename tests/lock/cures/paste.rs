//! Pastes what a report prints into the source of a program, as a developer would.

use persist_tools::lock::Difference;

/// The source of a program.
pub(super) struct Source {
    text: String,
    /// What a developer writes into a printed function.
    todo: String,
}

/// The text of a module of a case.
fn module<'s>(programs: &'s str, case: &str, module: &str) -> &'s str {
    let start = format!("\n    {case} {{\n");
    let (_, rest) = programs.split_once(&start).unwrap_or_else(|| panic!("no case {case}"));
    let (case, _) = rest.split_once("\n    }\n").expect("the end of the case");
    let start = format!("        {module} {{\n");
    let (_, rest) = case.split_once(&start).unwrap_or_else(|| panic!("no {module} in {case}"));
    rest.split_once("\n        }").expect("the end of the module").0
}

/// Where a word or a line stands that is not a part of a longer one.
fn find(text: &str, words: &str) -> Option<usize> {
    let is_word = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    text.match_indices(words).map(|(at, _)| at).find(|at| {
        !is_word(text[..*at].chars().next_back())
            && !is_word(text[at + words.len()..].chars().next())
    })
}

/// The end of the brackets that open at the start of a text.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    panic!("the brackets do not end: {text}")
}

/// The body that follows a name, without its brackets.
fn body(text: &str, at: usize) -> (usize, usize) {
    let open = at + text[at..].find(['(', '{']).expect("a body");
    (open + 1, open + closing(&text[open..]))
}

impl Source {
    /// The program after the change of a case.
    pub(super) fn new(programs: &str, case: &str) -> Self {
        let source = module(programs, case, "after");
        let todo = source.lines().find_map(|line| line.trim().strip_prefix("// todo: "));
        let code = source.lines().filter(|line| !line.trim().starts_with("// todo: "));
        let text = code.map(|line| format!("{line}\n")).collect();
        Self { text, todo: todo.unwrap_or("no body").to_owned() }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Pastes the lines that stand below a difference.
    pub(super) fn paste(&mut self, found: &Difference) {
        if let Some(attribute) = &found.attribute {
            self.line(found, attribute, found.above.as_deref().unwrap_or_default());
        }
    }

    /// Pastes one line of a difference, and the printed function if the line names it.
    pub(super) fn line(&mut self, found: &Difference, attribute: &str, above: &str) {
        if let Some(call) = attribute.strip_prefix("registry.") {
            let call = call.trim_end_matches([';', '?']);
            let at = self.text.find("|registry| {").expect("a registration") + "|registry| {".len();
            self.text.insert_str(at, &format!(" registry.{call}?;"));
        } else if above.starts_with("struct ") || above.starts_with("enum ") {
            self.head(attribute, above);
        } else {
            self.inside(found, attribute, above);
        }
        if let Some(code) = &found.code
            && names(attribute).any(|name| code.contains(&format!("fn {name}(")))
        {
            self.code(code);
        }
    }

    /// Pastes an attribute on a type.
    fn head(&mut self, attribute: &str, head: &str) {
        let at = find(&self.text, head).unwrap_or_else(|| panic!("no {head} in {}", self.text));
        let start = self.text[..at].rfind("pub ").expect("what the programs have is public");
        // A version takes the place of the one that is there.
        let line = self.text[..start].trim_end();
        let last = line.rfind('\n').map_or(line, |at| &line[at + 1..]);
        let is_version = |text: &str| text.trim().starts_with("#[persist(version");
        if is_version(attribute) && is_version(last) {
            let end = line.len();
            self.text.replace_range(end - last.trim().len()..end, attribute);
            return;
        }
        self.text.insert_str(start, &format!("{attribute}\n            "));
    }

    /// Pastes an attribute on a field or a variant; or a field that is not there.
    fn inside(&mut self, found: &Difference, attribute: &str, above: &str) {
        let class = found.class.split('<').next().unwrap_or_default();
        let at = [format!("struct {class}"), format!("enum {class}")];
        let at = at.iter().find_map(|head| find(&self.text, head));
        let (mut start, mut end) = body(&self.text, at.unwrap_or_else(|| panic!("no {class}")));
        let variant = found.field.as_deref().and_then(|field| field.split_once('.'));
        if let Some((variant, _)) = variant.filter(|(variant, _)| *variant != above) {
            let at = start + find(&self.text[start..end], variant).expect("the variant");
            (start, end) = body(&self.text, at);
        }
        match find(&self.text[start..end], above) {
            Some(at) => {
                let at = start + at;
                let before = self.text[..at].strip_suffix("pub ").map_or(at, str::len);
                // A number, or a `convert` with one more part, takes the place of the one that is there.
                let last = self.text[..before].rfind("#[persist(").unwrap_or(before);
                let is_one = |text: &str| {
                    ["#[persist(id = ", "#[persist(convert"]
                        .iter()
                        .position(|it| text.starts_with(it))
                };
                if is_one(attribute).is_some() && is_one(attribute) == is_one(&self.text[last..]) {
                    self.text.replace_range(last..before, "");
                    self.text.insert_str(last, &format!("{attribute} "));
                } else {
                    self.text.insert_str(before, &format!("{attribute} "));
                }
            }
            None => {
                let end = start + self.text[start..end].trim_end().len();
                self.text.insert_str(end, &format!(", {attribute} {above}"));
            }
        }
    }

    /// Pastes a function; the bodies of two of one name become one.
    fn code(&mut self, code: &str) {
        let code = code.replace("todo!()", &self.todo);
        let (head, inner) = code.split_once("{\n").expect("a body");
        let indented = |text: &str| -> String {
            text.lines().map(|line| format!("            {line}\n")).collect()
        };
        match self.text.find(head) {
            Some(at) => {
                let at = at + self.text[at..].find("{\n").expect("a body") + 2;
                let inner = inner.trim_end().trim_end_matches('}');
                let inner = indented(inner.trim_end());
                if !self.text[at..].contains(&inner) {
                    self.text.insert_str(at, &inner);
                }
            }
            None => self.text.push_str(&indented(&code)),
        }
    }
}

/// The words of an attribute.
fn names(attribute: &str) -> impl Iterator<Item = &str> {
    attribute.split(|it: char| !it.is_alphanumeric() && it != '_').filter(|it| !it.is_empty())
}
