//! Parses tokens into statements, by recursive descent. A statement begins in the first column of a
//! line. Indented lines continue it.

use super::lexer::{Kind, Token, tokens};
use super::{Distribution, Expr, Fault, File, Init, Item, Name, Operator, Pattern, Production, Range, Task, Time};

/// The maximum depth of nested brackets, which take stack space.
const MAX_BRACKET_DEPTH: usize = 100;

/// The maximum number of operators of a value. It bounds the depth of the value's tree.
const MAX_OPERATORS: usize = 1000;

/// Words that cannot be names.
const RESERVED: [&str; 11] = ["param", "shared", "init", "for", "from", "to", "down", "and", "or", "not", "if"];

/// Parses a whole file.
pub fn parse(text: &str) -> Result<File, Fault> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0, operators: 0 };
    let mut file = File::default();
    while parser.peek().kind != Kind::End {
        parser.statement(&mut file)?;
    }
    Ok(file)
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    /// The number of operators in the current value.
    operators: usize,
}

type Parsed<T> = Result<T, Fault>;

impl Parser {
    fn peek(&self) -> &Token {
        // The last token is the end, and is never taken.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    /// Whether the next token continues the statement.
    fn continues(&self) -> bool {
        !self.peek().begins
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        self.continues() && matches!(self.peek().kind, Kind::Symbol(found) if found == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        self.continues() && matches!(&self.peek().kind, Kind::Name(found) if found == word)
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let is = self.is_symbol(symbol);
        self.next += usize::from(is);
        is
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.next += usize::from(is);
        is
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    fn expected(&self, what: &str) -> Fault {
        let Token { kind, at, begins } = self.peek();
        let found = match kind {
            Kind::End => "the end of the file".to_owned(),
            _ if *begins => format!("a new statement, {kind} (go on with a statement on lines that are indented)"),
            _ => kind.to_string(),
        };
        Fault::new(*at, format!("expected {what}, found {found}"))
    }

    /// Parses the content of brackets.
    fn within<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > MAX_BRACKET_DEPTH {
            return Err(Fault::new(self.peek().at, format!("brackets are nested more than {MAX_BRACKET_DEPTH} deep")));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let Token { kind, at, .. } = self.peek().clone();
        match kind {
            Kind::Name(text) if !RESERVED.contains(&text.as_str()) && self.continues() => {
                self.next += 1;
                Ok(Name { text, at })
            }
            _ => Err(self.expected(what)),
        }
    }

    fn statement(&mut self, file: &mut File) -> Parsed<()> {
        let first = self.peek().clone();
        if !first.begins {
            let says = "a statement in the first column: `param`, `shared`, `init` or a production";
            return Err(self.expected(says));
        }
        // From here on, the first token is a part of the statement.
        self.tokens[self.next].begins = false;
        match &first.kind {
            Kind::Name(word) if word == "param" => file.params.push(self.definition()?),
            Kind::Name(word) if word == "shared" => file.shared.push(self.definition()?),
            Kind::Name(word) if word == "init" => self.init(file)?,
            _ => file.productions.push(self.production()?),
        }
        if self.continues() { Err(self.expected("the end of the statement")) } else { Ok(()) }
    }

    /// `param NAME = NUMBER`.
    fn definition(&mut self) -> Parsed<(Name, i64)> {
        self.next += 1;
        let name = self.name("a name")?;
        self.expect("=")?;
        Ok((name, self.number()?))
    }

    fn number(&mut self) -> Parsed<i64> {
        let negative = self.take_symbol("-");
        match self.peek().kind {
            Kind::Number(number) if self.continues() => {
                self.next += 1;
                Ok(if negative { -number } else { number })
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// `init TASK, TASK for VARIABLE from FIRST to LAST`: a range belongs to the task before it.
    fn init(&mut self, file: &mut File) -> Parsed<()> {
        self.next += 1;
        loop {
            let task = self.task()?;
            let range = if self.take_word("for") { Some(self.range()?) } else { None };
            file.init.push(Init { task, range });
            if !self.take_symbol(",") {
                return Ok(());
            }
        }
    }

    fn range(&mut self) -> Parsed<Range> {
        let variable = self.name("a variable")?;
        if !self.take_word("from") {
            return Err(self.expected("`from`"));
        }
        let first = self.value()?;
        let down = self.take_word("down");
        if !self.take_word("to") {
            return Err(self.expected("`to` or `down to`"));
        }
        Ok(Range { variable, first, last: self.value()?, down })
    }

    fn production(&mut self) -> Parsed<Production> {
        let kind = self.name("`param`, `shared`, `init` or a task type")?;
        let arguments = self.list(|parser| {
            if matches!(parser.peek().kind, Kind::Name(_)) {
                return Ok(Pattern::Called(parser.name("an argument")?));
            }
            Ok(Pattern::Is(parser.number()?))
        })?;
        self.expect("->")?;
        let items = self.items()?;
        let guard = if self.take_word("for") || self.take_word("if") { Some(self.value()?) } else { None };
        Ok(Production { kind, arguments, items, guard })
    }

    /// A list in parentheses, or an empty list without them.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        if !self.take_symbol("(") {
            return Ok(Vec::new());
        }
        self.within(|parser| {
            let mut all = vec![one(parser)?];
            while parser.take_symbol(",") {
                all.push(one(parser)?);
            }
            parser.expect(")")?;
            Ok(all)
        })
    }

    fn task(&mut self) -> Parsed<Task> {
        let kind = self.name("a task type")?;
        Ok(Task { kind, arguments: self.list(Self::value)? })
    }

    fn items(&mut self) -> Parsed<Vec<Item>> {
        let mut items = Vec::new();
        let ends = |parser: &Self| {
            !parser.continues()
                || ["|", "]"].iter().any(|symbol| parser.is_symbol(symbol))
                || ["for", "if"].iter().any(|word| parser.is_word(word))
        };
        while !ends(self) {
            items.push(self.item()?);
        }
        Ok(items)
    }

    fn item(&mut self) -> Parsed<Item> {
        let at = self.peek().at;
        if self.take_symbol("{") {
            let time = self.within(Self::time)?;
            self.expect("}")?;
            return Ok(Item::Time(time, at));
        }
        if self.take_symbol("[") {
            return Ok(Item::Choice(self.within(Self::alternatives)?, at));
        }
        if self.take_symbol("<") {
            let name = self.name("a shared variable")?;
            self.expect("=")?;
            // Not a comparison: its sign would end the item.
            self.operators = 0;
            let value = self.sum()?;
            self.expect(">")?;
            return Ok(Item::Set(name, value));
        }
        if matches!(self.peek().kind, Kind::Name(_)) {
            return Ok(Item::Task(self.task()?));
        }
        Err(self.expected("`{`, `[`, `<`, a task type, `for` or the end of the production"))
    }

    fn alternatives(&mut self) -> Parsed<Vec<(Option<Expr>, Vec<Item>)>> {
        let mut all = Vec::new();
        loop {
            let weight = self.weight()?;
            all.push((weight, self.items()?));
            if !self.take_symbol("|") {
                self.expect("]")?;
                return Ok(all);
            }
        }
    }

    /// `EXPR :`, if only a value can begin with the next token.
    fn weight(&mut self) -> Parsed<Option<Expr>> {
        let is_value = matches!(self.peek().kind, Kind::Number(_)) || self.is_symbol("(");
        if !is_value || !self.continues() {
            return Ok(None);
        }
        self.operators = 0;
        let weight = self.sum()?;
        self.expect(":")?;
        Ok(Some(weight))
    }

    fn time(&mut self) -> Parsed<Time> {
        let at = self.peek().at;
        let drawn = Distribution::ALL.iter().find(|(name, ..)| self.is_word(name));
        let Some(&(name, distribution, arity)) = drawn else { return Ok(Time::Constant(self.value()?)) };
        self.next += 1;
        let arguments = self.list(Self::value)?;
        if arguments.len() != arity {
            let found = arguments.len();
            return Err(Fault::new(at, format!("`{name}` takes {arity} arguments, here are {found}")));
        }
        Ok(Time::Drawn(distribution, arguments))
    }

    /// A whole value, not a part of one.
    fn value(&mut self) -> Parsed<Expr> {
        self.operators = 0;
        self.expr()
    }

    fn expr(&mut self) -> Parsed<Expr> {
        let or = |parser: &Self| parser.is_word("or").then_some(Operator::Or);
        self.joined(|parser| parser.conjunction(), or)
    }

    fn conjunction(&mut self) -> Parsed<Expr> {
        let and = |parser: &Self| parser.is_word("and").then_some(Operator::And);
        self.joined(|parser| parser.comparison(), and)
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        if self.take_word("not") {
            return Ok(Expr::Not(Box::new(self.within(Self::comparison)?)));
        }
        const COMPARED: [(&str, Operator); 7] = [
            ("<", Operator::Less),
            ("<=", Operator::LessOrEqual),
            ("=", Operator::Equal),
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            (">=", Operator::GreaterOrEqual),
            (">", Operator::Greater),
        ];
        let left = self.sum()?;
        let at = self.peek().at;
        let Some((_, operator)) = COMPARED.iter().find(|(symbol, _)| self.is_symbol(symbol)) else { return Ok(left) };
        self.next += 1;
        Ok(Expr::Binary(*operator, Box::new([left, self.sum()?]), at))
    }

    fn sum(&mut self) -> Parsed<Expr> {
        const SIGNS: [(&str, Operator); 2] = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.joined(|parser| parser.product(), |parser| parser.operator(&SIGNS))
    }

    fn product(&mut self) -> Parsed<Expr> {
        const SIGNS: [(&str, Operator); 3] =
            [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)];
        self.joined(|parser| parser.factor(), |parser| parser.operator(&SIGNS))
    }

    fn operator(&self, signs: &[(&str, Operator)]) -> Option<Operator> {
        signs.iter().find(|(symbol, _)| self.is_symbol(symbol)).map(|(_, operator)| *operator)
    }

    /// Parts, joined from left to right.
    fn joined(
        &mut self,
        part: impl Fn(&mut Self) -> Parsed<Expr>,
        operator: impl Fn(&Self) -> Option<Operator>,
    ) -> Parsed<Expr> {
        let mut left = part(self)?;
        while let Some(operator) = operator(self) {
            let at = self.peek().at;
            self.next += 1;
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                return Err(Fault::new(at, format!("a value of more than {MAX_OPERATORS} operators")));
            }
            left = Expr::Binary(operator, Box::new([left, part(self)?]), at);
        }
        Ok(left)
    }

    fn factor(&mut self) -> Parsed<Expr> {
        let Token { kind, at, .. } = self.peek().clone();
        if self.take_symbol("-") {
            return Ok(Expr::Negative(Box::new(self.within(Self::factor)?), at));
        }
        if self.take_symbol("(") {
            let value = self.within(Self::expr)?;
            self.expect(")")?;
            return Ok(value);
        }
        let Kind::Number(number) = kind else { return Ok(Expr::Name(self.name("a value")?)) };
        if !self.continues() {
            return Err(self.expected("a value"));
        }
        self.next += 1;
        self.times(number)
    }

    /// `100f`, `2(i + 1)`: a number, and a factor after it without an operator.
    fn times(&mut self, number: i64) -> Parsed<Expr> {
        let Token { kind, at, .. } = self.peek().clone();
        let is_name = matches!(&kind, Kind::Name(name) if !RESERVED.contains(&name.as_str()));
        if !self.continues() || !is_name && !self.is_symbol("(") {
            return Ok(Expr::Number(number));
        }
        let with = self.within(Self::factor)?;
        Ok(Expr::Binary(Operator::Multiply, Box::new([Expr::Number(number), with]), at))
    }
}
