int no_licence;
